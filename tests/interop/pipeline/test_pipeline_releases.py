"""Each release of Spark gives the tables of the local engine, row for row."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from synthetic.shape import SMALL
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_releases import HERE, RELEASES, Release

if TYPE_CHECKING:
    from pathlib import Path

LINES = 20_000
SEEDS = (1, 2, 3)
RAN = (0, 4)
"""The statuses of runs that wrote their tables."""


def write_world(folder: Path, seed: int) -> tuple[Path, str]:
    """Write ACLs and, into two folders, the log of four days; return the ACLs and a principal."""
    world = world_of(replace(SMALL, seed=seed))
    log = write_log(world, folder / "first", Log(lines=LINES, files=8, days=4, bad_every=500))
    (folder / "second").mkdir()
    for path in log.paths[5:]:
        path.rename(folder / "second" / path.name)
    return write_acls(world, folder)["yaml"], world.names.principals[0]


def called(release: Release, *words: str) -> None:
    """Call the command with a release of PySpark."""
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper_pipeline", *words],
        env=release.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(300),
    )
    assert done.returncode in RAN, done.stderr[-3000:]


def tables_in(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of silver and gold; that a finding is gone, and not when it was found so."""
    tables = silver_and_gold(out)
    for finding in tables["findings"]:
        finding["gone"] = finding["gone"] is not None
    return tables


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", SEEDS)
def test_releases_give_equal_tables(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a run, after one with more files, and after files are merged and a name forgotten."""
    acls, principal = write_world(tmp_path, seed)
    logs = ["run", "--acls", str(acls), "--log", str(tmp_path / "first")]
    more = [*logs, "--log", str(tmp_path / "second")]
    rows = 0
    for words in (logs, more, ["maintain", "--forget", principal]):
        found = []
        for engine, release in (("local", HERE), *(("spark", each) for each in RELEASES)):
            or_skip(release.pyspark)
            out = tmp_path / f"{engine}-{release}"
            called(release, *words, "--engine", engine, "--tables", str(out))
            found.append(tables_in(out))

        assert found[1:] == found[:1] * len(RELEASES), words[0]
        rows += sum(map(len, found[0].values()))
    with capsys.disabled():
        sys.stdout.write(f"\nseed {seed}: {rows} rows equal in {len(RELEASES)} releases of Spark\n")
