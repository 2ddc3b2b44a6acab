"""Each release of Spark gives the tables of the local engine, row for row.

``--pipeline-seeds`` are the seeds of the worlds, such as 1-34.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.jobs.maintain import MaintainRequest
from doorkeeper_pipeline.jobs.request import RunRequest
from synthetic.lines import ERAS
from synthetic.shape import SMALL, Shape
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log
from testkit.or_skip import or_skip
from testkit.pipeline_process import PipelineProcess
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_releases import HERE, RELEASES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGE = 3
"""Worlds of the first seeds are large; the others have all that they have, but fewer of each."""

LOG = Log(lines=20_000, files=8, days=4, bad_every=500)
FEW = replace(SMALL, principals=20, topics=40, groups=15, acls=150, questions=600)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the seeds in turn."""
    if "seed" in metafunc.fixturenames:
        first, _, last = metafunc.config.getoption("--pipeline-seeds").partition("-")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[PipelineProcess]]:
    """Run a process of the local engine, and one for each release of Spark."""
    folder = tmp_path_factory.mktemp("processes")
    with ExitStack() as ends:
        found = []
        for engine, release in (("local", HERE), *(("spark", each) for each in RELEASES)):
            or_skip(release.pyspark)
            process = PipelineProcess(engine, release, folder / f"{engine}-{release}")
            found.append(ends.enter_context(closing(process)))
        yield found


def shape_of(seed: int) -> tuple[Shape, Log]:
    """Return the world of a seed, and its log: all eras and compressions take turns."""
    how = replace(LOG, era=ERAS[-seed % len(ERAS)], compressed=("", ".gz", ".zst")[seed % 3])
    if seed <= LARGE:
        return replace(SMALL, seed=seed), how
    return replace(FEW, seed=seed), replace(how, lines=2_000, bad_every=50)


@pytest.mark.timeout(600)
def test_releases_give_equal_tables(
    seed: int, processes: list[PipelineProcess], tmp_path: Path
) -> None:
    """After a run, one with more files, maintenance that forgets a name; and a run after that."""
    shape, log = shape_of(seed)
    world = world_of(shape)
    paths = write_log(world, tmp_path / "first", log).paths
    (tmp_path / "second").mkdir()
    for path in paths[5:]:
        path.rename(tmp_path / "second" / path.name)
    first = RunRequest(
        out=tmp_path,
        inputs=(str(tmp_path / "first"),),
        acls=(str(write_acls(world, tmp_path)["yaml"]),),
        policy=world.policy,
        # A small log is read in slices too.
        slice_bytes=None if seed <= LARGE else 20_000,
    )
    both = replace(first, inputs=(*first.inputs, str(tmp_path / "second")))
    forgotten = MaintainRequest(out=tmp_path, forget=(world.names.principals[0],))
    steps: list[RunRequest | MaintainRequest] = [first, both, forgotten]
    steps += [both] if seed <= LARGE else []
    for request in steps:
        outs = [tmp_path / str(number) for number in range(len(processes))]
        for process, out in zip(processes, outs, strict=True):
            process.start(replace(request, out=out))
        assert [each.finish() for each in processes] == [""] * len(processes)
        local, *spark = map(silver_and_gold, outs)
        assert sum(map(len, local.values())) > log.lines / 10
        assert spark == [local] * len(RELEASES)
