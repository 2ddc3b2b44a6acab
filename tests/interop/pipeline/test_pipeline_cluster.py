"""The same run on a standalone cluster and by Spark Connect: our packages are sent to workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doorkeeper_pipeline.tables.delta import Tables
from synthetic.shape import SMALL
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_cluster import connect_server, environment, standalone

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(900)]

LINES = 200_000
DRIVER_PATH = ":".join(str(ROOT / name) for name in ("server", "pipeline"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a folder of logs and a file of ACLs."""
    folder = tmp_path_factory.mktemp("world")
    made = world_of(SMALL)
    write_log(made, folder / "logs", Log(lines=LINES, files=4, days=2, bad_every=1000))
    return folder / "logs", write_acls(made, folder)["yaml"]


def ran(world: tuple[Path | str, Path], out: Path, *options: str, lines: int = LINES) -> float:
    """Run the command and return its seconds; our packages are on the driver's path alone."""
    logs, acls = world
    begin = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "doorkeeper_pipeline", "run", "--log", str(logs)),
            *("--acls", str(acls), "--tables", str(out), "--output", "json", *options),
        ],
        env={**environment(), "PYTHONPATH": DRIVER_PATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(600),
    )
    # The tables are written; two days are too few to recommend anything.
    assert done.returncode == 4, done.stderr[-3000:]
    assert json.loads(done.stdout)["run"]["decisions"] == lines
    return time.monotonic() - begin


WHERE = """
import sys
from doorkeeper_pipeline.engines.spark import SparkEngine

def where(_, task):
    import doorkeeper_pipeline
    return doorkeeper_pipeline.__file__

if __name__ == "__main__":
    engine = SparkEngine(sys.argv[1])
    print(*engine.map(where, [1, 2], None), sep="\\n")
    engine.close()
"""


def test_workers_use_the_sent_packages(tmp_path: Path) -> None:
    (tmp_path / "where.py").write_text(WHERE)
    with standalone(tmp_path, 1) as cluster:
        done = subprocess.run(
            [sys.executable, str(tmp_path / "where.py"), cluster.address],
            env={**environment(), "PYTHONPATH": DRIVER_PATH},
            capture_output=True,
            text=True,
            check=False,
            timeout=scaled(300),
        )

    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 2
    assert all("doorkeeper_packages.zip" in line for line in done.stdout.splitlines())


def test_cluster_gives_the_same_tables(
    world: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = {}
    for workers in (1, 2):
        folder = tmp_path / f"cluster{workers}"
        folder.mkdir()
        with standalone(folder, workers) as cluster:
            seconds[workers] = ran(world, tmp_path / f"out{workers}", "--master", cluster.address)
    ran(world, tmp_path / "local", "--engine", "local")

    with capsys.disabled():
        sys.stdout.write(f"\nrun on 1 worker {seconds[1]:.1f} s, on 2 workers {seconds[2]:.1f} s\n")
    assert silver_and_gold(tmp_path / "out1") == silver_and_gold(tmp_path / "local")
    assert silver_and_gold(tmp_path / "out2") == silver_and_gold(tmp_path / "local")
    assert len(Tables(tmp_path / "out2").read("quarantine")) > 0


def test_connect_server_gives_the_same_tables(tmp_path: Path) -> None:
    made, lines, logs = world_of(SMALL), 20_000, tmp_path / "logs"
    write_log(made, logs, Log(lines=lines, files=2, days=1, bad_every=1000))
    acls = write_acls(made, tmp_path)["yaml"]
    ran((logs, acls), tmp_path / "local", "--engine", "local", lines=lines)
    with connect_server(tmp_path) as address:
        for name, place in (("paths", logs), ("addresses", logs.as_uri())):
            ran((place, acls), tmp_path / name, "--master", address, lines=lines)

    for name in ("paths", "addresses"):
        assert silver_and_gold(tmp_path / name) == silver_and_gold(tmp_path / "local")
        assert Tables(tmp_path / name).read("runs")["master"].to_list() == [address]
