"""How fast does ``kafka-authorizer.log`` become ``decisions``, and in how much memory?

    python benchmarks/pipeline_log.py [--lines N] [--full] [--quick] [--rounds N]

A made-up day of era E is read four ways, each in a process of its own:

    ours, Spark     doorkeeper-pipeline run: tasks that own byte ranges and parse distinct messages
    ours, local     the same without a JVM
    Spark SQL       the text source, one split by the words between the fields, a GROUP BY
    Polars          string cuts and a group_by, on one machine

All four write Parquet and must agree row for row. Ours also makes the gold tables with 20,000 ACLs,
which a user waits for, keeps what it cannot read, remembers files, and leaves old tables whole when
it dies; the other two end with the decisions, and would give wrong rows for names that hold the
log's own words, so the world has none of them. ``wall`` is the whole process, ``job`` is
without the start of Python and Spark, ``cpu`` the processor seconds of all processes: they say more
than the others on a machine that does something else too. Memory is the sum of all processes
without counting shared pages twice. Goals, with 5 million lines (``--full``, 2.1 GB, minutes):
local at most 1.5 times the processor time of bare Polars, in less than 1 GB; Spark at most twice
that of local, and three times as fast as Spark SQL.
"""

# A process imports what its method needs: others' start is not its own

from __future__ import annotations

import argparse
import datetime as dt
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

LINES, LINES_FULL, LINES_QUICK = 1_000_000, 5_000_000, 100_000
FILES = 24
KEYS = (
    *("minute", "principal", "host", "operation", "resource_type", "resource_name", "outcome"),
    *("api", "rule", "rule_binding"),
)
WORDS = (
    *(" operation = ", " from host = ", " on resource = ", " for request = "),
    *(" with resourceRefCount = ", " based on rule "),
)
TYPES = {
    "Topic": "TOPIC",
    "Group": "GROUP",
    "Cluster": "CLUSTER",
    "TransactionalId": "TRANSACTIONAL_ID",
}
SAMPLE_S = 0.5
JOB = "job seconds: "


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--full", action="store_true", help=f"{LINES_FULL:,} lines")
    parser.add_argument("--quick", action="store_true", help=f"{LINES_QUICK:,} lines")
    parser.add_argument("--rounds", type=int, default=1, help="the least time of so many counts")
    parser.add_argument("--method", choices=METHODS, help=argparse.SUPPRESS)
    parser.add_argument("--logs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.method:
        print(f"{JOB}{METHODS[chosen.method](chosen.logs, chosen.out):.3f}")
        return
    lines = LINES_FULL if chosen.full else LINES_QUICK if chosen.quick else chosen.lines
    with tempfile.TemporaryDirectory() as folder:
        measured(Path(folder), lines, chosen.rounds)


def measured(folder: Path, lines: int, rounds: int) -> None:
    """Write a log, read it by each method, compare, print."""
    logs = folder / "logs"
    begin_s = time.perf_counter()
    size = made(logs, lines)
    print(f"{lines:,} lines, {size / 1e9:.2f} GB, {FILES} files, written in", end=" ")
    print(f"{time.perf_counter() - begin_s:.0f} s")
    print(
        f"{'':14} {'wall s':>8} {'job s':>8} {'cpu s':>8} {'peak MB':>8}   of ours: wall, job, cpu"
    )
    found: dict[str, tuple[float, ...]] = {}
    answer: tuple[int, int, int] | None = None
    for _ in range(rounds):
        for name in METHODS:
            out = folder / "out"
            run = timed(name, logs, out)
            result = fingerprint(out)
            answer = answer or result
            if result != answer:
                raise SystemExit(f"{name}: rows, decisions, digest {result}; expected {answer}")
            shutil.rmtree(out)
            found[name] = min(found.get(name, run), run)
    for name, (wall, job, cpu, peak) in found.items():
        ours = found["ours, Spark"]
        ratios = f"{wall / ours[0]:5.2f} {job / ours[1]:5.2f} {cpu / ours[2]:5.2f}"
        print(f"{name:14} {wall:8.1f} {job:8.1f} {cpu:8.1f} {peak:8.0f}   {ratios}")
    assert answer is not None
    print(f"all agree on {answer[0]:,} rows of decisions")


def made(logs: Path, lines: int) -> int:
    """Write the log and, in the folder around it, ACLs; return its bytes."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from synthetic.shape import Shape
    from synthetic.traffic import world_of
    from synthetic.writing import Log, write_acls, write_log

    questions = min(240_000, max(1_000, lines // 4))
    world = world_of(Shape(odd_names=False, questions=questions))
    write_acls(world, logs.parent)
    return write_log(world, logs, Log(lines=lines, files=FILES, days=1)).size_bytes


def timed(name: str, logs: Path, out: Path) -> tuple[float, ...]:
    """Run a method in a process of its own; return wall, job and processor seconds, peak MB."""
    begin_s = time.perf_counter()
    arguments = ["--method", name, "--logs", str(logs), "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    peak = Peak(process.pid)
    peak.start()
    told, failed = process.communicate()
    wall_s = time.perf_counter() - begin_s
    peak.stop()
    if process.returncode:
        raise SystemExit(f"{name}: {failed.decode()[-4000:]}")
    job = next(line for line in told.decode().splitlines() if line.startswith(JOB))
    return wall_s, float(job.removeprefix(JOB)), peak.cpu_s, peak.mb


class Peak(threading.Thread):
    """Looks at the memory and the processor time of a process and all below it now and then."""

    def __init__(self, pid: int) -> None:
        """Take the process."""
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self._ticks: dict[int, int] = {}
        self.mb = 0.0

    @property
    def cpu_s(self) -> float:
        """Return the processor seconds of all processes that were seen."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def run(self) -> None:
        """Look until it is over."""
        while not self._over.wait(SAMPLE_S):
            found = family(self._pid)
            self._ticks |= found
            self.mb = max(self.mb, sum(map(memory_mb, found)))

    def stop(self) -> None:
        """End."""
        self._over.set()
        self.join()


def family(pid: int) -> dict[int, int]:
    """Return a process and all below it, with the ticks that each has used."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
        ticks[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return {each: ticks.get(each, 0) for each in found}


def memory_mb(pid: int) -> float:
    """Return the memory of a process; pages that several share are divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def fingerprint(out: Path) -> tuple[int, int, int]:
    """Return rows, decisions and a digest of what a method wrote, in whatever order."""
    from doorkeeper_pipeline.tables import delta

    ours = delta.Tables(out).files("decisions")
    files = ours or sorted(map(str, (out / "decisions").rglob("*.parquet")))
    frame = pl.read_parquet(files, hive_partitioning=False).select(
        *(pl.col(name).cast(pl.String) for name in KEYS if name != "minute"),
        pl.col("minute").dt.epoch("s"),
        pl.col("count").cast(pl.Int64),
        pl.col("first_ts").dt.epoch("ms"),
        pl.col("last_ts").dt.epoch("ms"),
    )
    digest = frame.hash_rows(seed=1).sum()
    return len(frame), int(frame["count"].sum()), int(digest)


def ours(engine_name: str) -> Callable[[Path, Path], float]:
    """Return the method that is ours, on an engine."""

    def job(logs: Path, out: Path) -> float:
        from doorkeeper_pipeline.engines.contract import Engine
        from doorkeeper_pipeline.engines.spark import SparkEngine
        from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
        from doorkeeper_pipeline.jobs.run import run

        with closing(SparkEngine() if engine_name == "spark" else Engine()) as engine:
            if isinstance(engine, SparkEngine):
                engine.session.range(1).count()  # its start is not measured
            begin_s = time.perf_counter()
            around = Surroundings(
                engine=engine,
                now=lambda: dt.datetime.now(dt.UTC),  # noqa: TID251  the outermost place
                run_id="benchmark",
                version="benchmark",
                tell=lambda _: None,
            )
            acls = (str(logs.parent / "acls.yaml"),)
            run(RunRequest(out=out, inputs=(str(logs),), acls=acls), around)
            return time.perf_counter() - begin_s

    return job


def spark_sql(logs: Path, out: Path) -> float:
    """Read lines as text, split them, group."""
    from pyspark.sql import functions

    from doorkeeper_pipeline.engines.session import start

    spark = start("local[*]", "baseline", {})
    begin_s = time.perf_counter()
    part = functions.split("value", "|".join(WORDS))
    lines = spark.read.text(str(logs)).withColumn("part", part)
    head, resource = functions.col("part")[0], functions.split(functions.col("part")[3], ":", 3)
    rule = functions.substring_index(functions.col("part")[6], " (kafka", 1)
    types: Any = functions.create_map(
        *(functions.lit(each) for pair in TYPES.items() for each in pair)
    )
    (
        lines.select(
            functions.to_timestamp(
                functions.substring("value", 2, 23), "yyyy-MM-dd HH:mm:ss,SSS"
            ).alias("ts"),
            functions.regexp_extract(head, "Principal = (.*) is (?:Allowed|Denied)$", 1).alias(
                "principal"
            ),
            functions.when(head.endswith(" is Allowed"), "ALLOWED")
            .otherwise("DENIED")
            .alias("outcome"),
            functions.col("part")[1].alias("operation"),
            functions.col("part")[2].alias("host"),
            types[resource[0]].alias("resource_type"),
            resource[2].alias("resource_name"),
            functions.col("part")[4].alias("api"),
            functions.substring_index(rule, "(", 1).alias("rule"),
            functions.regexp_extract(rule, r"StandardAcl\[(.*)\]\)$", 1).alias("rule_binding"),
        )
        .withColumn("minute", functions.date_trunc("minute", "ts"))
        .groupBy(*KEYS)
        .agg(
            functions.count("*").alias("count"),
            functions.min("ts").alias("first_ts"),
            functions.max("ts").alias("last_ts"),
        )
        .withColumn("day", functions.to_date("minute"))
        .write.partitionBy("day")
        .parquet(str(out / "decisions"))
    )
    seconds = time.perf_counter() - begin_s
    spark.stop()
    return seconds


def bare_polars(logs: Path, out: Path) -> float:
    """Read lines, cut them at the words between the fields, group."""
    begin_s = time.perf_counter()
    frame = pl.scan_lines(sorted(logs.iterdir()), name="rest")
    for number, word in enumerate(WORDS):
        cut = pl.col("rest").str.splitn(word, 2).struct
        frame = frame.with_columns(
            cut.field("field_0").alias(f"part_{number}"), cut.field("field_1").alias("rest")
        )
    head, rule = pl.col("part_0"), pl.col("rest").str.splitn(" (kafka", 2).struct.field("field_0")
    person = head.str.splitn(" Principal = ", 2).struct.field("field_1")
    resource = pl.col("part_3").str.splitn(":", 3).struct
    acl = rule.str.splitn("StandardAcl[", 2).struct.field("field_1").str.strip_suffix("])")
    decisions = (
        frame.select(
            head.str.slice(1, 23).str.to_datetime("%Y-%m-%d %H:%M:%S,%3f").alias("ts"),
            person.str.strip_suffix(" is Allowed")
            .str.strip_suffix(" is Denied")
            .alias("principal"),
            pl.when(head.str.ends_with(" is Allowed"))
            .then(pl.lit("ALLOWED"))
            .otherwise(pl.lit("DENIED"))
            .alias("outcome"),
            pl.col("part_1").alias("operation"),
            pl.col("part_2").alias("host"),
            resource.field("field_0").replace(TYPES).alias("resource_type"),
            resource.field("field_2").alias("resource_name"),
            pl.col("part_4").alias("api"),
            rule.str.splitn("(", 2).struct.field("field_0").alias("rule"),
            acl.fill_null("").alias("rule_binding"),
        )
        .with_columns(pl.col("ts").dt.truncate("1m").alias("minute"))
        .group_by(KEYS)
        .agg(
            pl.len().alias("count"),
            pl.col("ts").min().alias("first_ts"),
            pl.col("ts").max().alias("last_ts"),
        )
    )
    (out / "decisions").mkdir(parents=True)
    decisions.sink_parquet(out / "decisions" / "decisions.parquet")
    return time.perf_counter() - begin_s


METHODS: dict[str, Callable[[Path, Path], float]] = {
    "ours, Spark": ours("spark"),
    "ours, local": ours("local"),
    "Spark SQL": spark_sql,
    "Polars": bare_polars,
}


if __name__ == "__main__":
    main()
