"""Other readers of the tables, while runs commit: DuckDB and PySpark see complete versions only."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.columns import stored_columns
from doorkeeper_pipeline.schemas import TABLES
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.spark_releases import RELEASES, Release, jars_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow]

COMMITS = 20
"""At least: they go on until the reader has seen enough of them."""
SEEN = 6
"""Versions that the reader has seen come."""
HOURS = 5
LINES = 100
"""Of each hour; a run adds one file with lines of all hours, so that it replaces their files."""

LINE = (
    "[2026-11-22 {hour:02}:10:00,000] INFO Principal = User:u is Denied operation = READ from host"
    " = 10.0.0.7 on resource = Topic:LITERAL:t{name} for request = Fetch with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)\n"
)

DUCKDB = """
import json, sys, time
from pathlib import Path
import duckdb
from deltalake import DeltaTable

out, stop = map(Path, sys.argv[1:])
while not stop.exists():
    seen = {}
    for table in ("silver/decisions", "gold/denied"):
        rows = DeltaTable(out / table).to_pyarrow_dataset()
        asked = "select sum(count)::bigint, count(distinct resource_name) from rows"
        (seen[table],) = duckdb.sql(asked).fetchall()
    print(json.dumps(seen), flush=True)
"""

SPARK = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as sql

out, stop = map(Path, sys.argv[1:])
spark = SparkSession.builder.getOrCreate()
while not stop.exists():
    seen = {}
    for table in ("silver/decisions", "gold/denied"):
        rows = spark.read.format("delta").load(str(out / table))
        seen[table] = list(rows.agg(sql.sum("count"), sql.countDistinct("resource_name")).first())
    print(json.dumps(seen), flush=True)
spark.stop()
"""


def commit(logs: Path, out: Path, number: int) -> None:
    """Add a file of the log, and run."""
    lines = [
        LINE.format(hour=hour, name=f"{number}-{hour}-{each}")
        for hour in range(HOURS)
        for each in range(LINES)
    ]
    (logs / f"kafka-authorizer.log.{number:03}").write_text("".join(lines))
    command = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--quiet"]
    done = subprocess.run(
        [*command, "--log", str(logs), "--tables", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def spark_options(release: Release) -> dict[str, str]:
    """Return the variables of a release of PySpark with its reader of the format."""
    conf = {
        "spark.jars": or_skip(lambda: jars_of(release.delta)),
        "spark.ui.enabled": "false",
        # Else a look at a table of some rows is hundreds of tasks, and the commits run away.
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    words = " ".join(f"--conf {name}={value}" for name, value in conf.items())
    submit = f"--master local[1] --driver-memory 512m {words} pyspark-shell"
    return or_skip(release.environment) | {"PYSPARK_SUBMIT_ARGS": submit}


def seen_by(lines: Path) -> list[dict[str, list[int]]]:
    """Return what a reader has told, without a line that it is writing."""
    return [
        json.loads(each)
        for each in lines.read_text().splitlines(keepends=True)
        if each[-1:] == "\n"
    ]


@pytest.mark.timeout(3600)  # at the function: one of the module gives way to that of the folder
@pytest.mark.parametrize("reader", ["duckdb", *RELEASES], ids=str)
def test_readers_see_complete_versions(
    tmp_path: Path, reader: str | Release, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = spark_options(reader) if isinstance(reader, Release) else None
    logs, out, stop = tmp_path / "logs", tmp_path / "out", tmp_path / "stop"
    logs.mkdir()
    commit(logs, out, 0)
    (tmp_path / "reader.py").write_text(SPARK if variables else DUCKDB)
    lines, errors = tmp_path / "stdout", tmp_path / "stderr"
    with (
        lines.open("w") as stdout,
        errors.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, str(tmp_path / "reader.py"), str(out), str(stop)],
            env=variables,
            stdout=stdout,
            stderr=stderr,
        ) as process,
    ):
        try:
            commits = 1
            while commits < COMMITS or len({str(each) for each in seen_by(lines)}) < SEEN:
                assert process.poll() is None, errors.read_text()[-3000:]
                commit(logs, out, commits)
                commits += 1
            stop.touch()
            assert process.wait(scaled(300)) == 0, errors.read_text()[-3000:]
        finally:
            process.kill()

    seen = seen_by(lines)
    for table in ("silver/decisions", "gold/denied"):
        sums = [each[table][0] for each in seen]
        assert {each % (HOURS * LINES) for each in sums} == {0}
        assert sums == sorted(sums)
        assert all(count == names for count, names in (each[table] for each in seen))
    with capsys.disabled():
        sys.stdout.write(f"\n{commits} commits, {len(seen)} looks at both tables\n")


CATALOG = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE SCHEMA access")
found = {}
for log in sorted(Path(sys.argv[1]).glob("*/*/_delta_log")):
    name = f"access.{log.parent.name}"
    spark.sql(f"CREATE TABLE {name} USING DELTA LOCATION '{log.parent}'")
    rows = spark.sql(f"DESCRIBE TABLE {name}").collect()
    named = [row for row in rows if row.col_name and not row.col_name.startswith("#")]
    found[name] = {row.col_name: row.comment for row in named}
asked = "SELECT sum(count) FROM access.decisions WHERE day = '2026-11-22' AND minute {}"
sums = [spark.sql(asked.format(each)).first()[0] for each in (
    ">= '2026-11-22T03:00:00Z'", "< '2026-11-22T03:00:00Z'", "> '2026-11-23'"
)]
print(json.dumps([found, sums]))
spark.stop()
"""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_tables_in_a_catalog(tmp_path: Path, release: Release) -> None:
    """Each table can be registered by its folder; columns have comments; statistics hide no row."""
    variables = spark_options(release)
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    commit(logs, out, 0)
    (tmp_path / "reader.py").write_text(CATALOG)

    done = subprocess.run(
        [sys.executable, str(tmp_path / "reader.py"), str(out)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=variables,
        timeout=scaled(300),
    )

    assert done.returncode == 0, done.stderr[-3000:]
    found, sums = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() >= {"access.decisions", "access.grant_usage", "access.denied"}
    for name, comments in found.items():
        declared = {column.name: column.meaning for column in stored_columns(TABLES[name[7:]])}
        assert comments == declared, name
    assert sums == [2 * LINES, 3 * LINES, None]
