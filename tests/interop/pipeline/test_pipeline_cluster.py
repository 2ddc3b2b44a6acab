"""The same run on a standalone cluster and by Spark Connect: our packages are sent to workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from doorkeeper_pipeline.tables.delta import Tables
from synthetic.shape import SMALL
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_cluster import connect_server, standalone
from testkit.spark_releases import HERE, RELEASES, Release, jars_of

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(900)]

LINES, FEW = 200_000, 20_000
DRIVER_PATH = [ROOT / name for name in ("server", "pipeline")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a folder of logs and a file of ACLs."""
    return written(tmp_path_factory.mktemp("world"), LINES)


def written(folder: Path, lines: int) -> tuple[Path, Path]:
    """Write a log of two days, and ACLs."""
    made = world_of(SMALL)
    write_log(made, folder / "logs", Log(lines=lines, files=4, days=2, bad_every=1000))
    return folder / "logs", write_acls(made, folder)["yaml"]


def ran(
    world: tuple[Path | str, Path],
    out: Path,
    *options: str,
    lines: int = LINES,
    release: Release = HERE,
) -> float:
    """Run the command and return its seconds; our packages are on the driver's path alone."""
    logs, acls = world
    begin = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "doorkeeper_pipeline", "run", "--log", str(logs)),
            *("--acls", str(acls), "--tables", str(out), "--output", "json", *options),
        ],
        env=release.environment(*DRIVER_PATH),
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


@pytest.fixture(scope="module", params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """Give each release of Spark in turn; it is there."""
    found: Release = request.param
    or_skip(found.pyspark)
    if found.connect:
        or_skip(lambda: jars_of(found.connect))
    return found


def test_workers_use_the_sent_packages(tmp_path: Path, release: Release) -> None:
    (tmp_path / "where.py").write_text(WHERE)
    with standalone(tmp_path, 1, release) as cluster:
        done = subprocess.run(
            [sys.executable, str(tmp_path / "where.py"), cluster.address],
            env=release.environment(*DRIVER_PATH),
            capture_output=True,
            text=True,
            check=False,
            timeout=scaled(300),
        )

    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 2
    assert all("doorkeeper_packages.zip" in line for line in done.stdout.splitlines())


NEEDED = {"immutables", "msgspec", "numpy", "polars", "polars-runtime-32", "pyarrow"}
SENT = {"doorkeeper", "py4j", "pyspark"}
"""Distributions that workers have, and those that Spark or the driver gives them."""

REFUSING = """
import sys
from pathlib import Path

class Refusing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {refused}:
            raise ModuleNotFoundError(name + " is not on workers", name=name)

sys.meta_path.insert(0, Refusing())
Path({mark!r}).touch()
"""


def test_workers_need_few_packages(release: Release, tmp_path: Path) -> None:
    """Of the packages of this environment, workers import those that the reference names."""
    refused = {
        name
        for name, distributions in packages_distributions().items()
        if not {each.lower() for each in distributions} <= NEEDED | SENT
    }
    mark, folder = tmp_path / "refused", tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(REFUSING.format(refused=refused, mark=str(mark)))
    with standalone(tmp_path, 1, release) as cluster:
        options = ("--master", cluster.address, "--conf", f"spark.executorEnv.PYTHONPATH={folder}")
        made, lines = tmp_path / "out", FEW // 10
        ran(written(tmp_path, lines), made, *options, lines=lines, release=release)

    assert {"pandas", "deltalake"} <= refused
    assert mark.exists()


def test_cluster_gives_the_same_tables(
    world: tuple[Path, Path],
    release: Release,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = {}
    for workers in (1, 2):
        folder = tmp_path / f"cluster{workers}"
        folder.mkdir()
        with standalone(folder, workers, release) as cluster:
            options = ("--master", cluster.address)
            seconds[workers] = ran(world, tmp_path / f"out{workers}", *options, release=release)
    ran(world, tmp_path / "local", "--engine", "local")

    with capsys.disabled():
        sys.stdout.write(f"\nrun on 1 worker {seconds[1]:.1f} s, on 2 workers {seconds[2]:.1f} s\n")
    assert silver_and_gold(tmp_path / "out1") == silver_and_gold(tmp_path / "local")
    assert silver_and_gold(tmp_path / "out2") == silver_and_gold(tmp_path / "local")
    assert len(Tables(tmp_path / "out2").read("quarantine")) > 0


def test_connect_server_gives_the_same_tables(tmp_path: Path, release: Release) -> None:
    logs, acls = written(tmp_path, FEW)
    ran((logs, acls), tmp_path / "local", "--engine", "local", lines=FEW)
    with connect_server(tmp_path, release) as address:
        for name, place in (("paths", logs), ("addresses", logs.as_uri())):
            options = ("--master", address)
            ran((place, acls), tmp_path / name, *options, lines=FEW, release=release)

    for name in ("paths", "addresses"):
        assert silver_and_gold(tmp_path / name) == silver_and_gold(tmp_path / "local")
        assert Tables(tmp_path / name).read("runs")["master"].to_list() == [address]
