"""Does an event cost the same, whatever the length of the history?

    python benchmarks/pipeline_scaling.py [--quick | --full]

One world with 20,000 ACLs, histories of one, three and ten parts of it. Measured are the backtest
of another set and the usage of every grant, on this machine without Spark and with it, each after
the same job has run once in the session; Spark's start is told apart. Goal: at ten parts an event
costs no more than 1.2 times what it costs at one. By default a part is 100,000 events, with --full
a million.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.grants import usage
from synthetic.grants import proposal_of
from synthetic.shape import Shape
from synthetic.tables import decisions_of
from synthetic.traffic import world_of
from testkit.acl_tables import bindings_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from synthetic.traffic import World

PARTS = (1, 3, 10)
GOAL = 1.2
FILES_A_PART = 2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="parts of 20,000 events, no Spark")
    parser.add_argument("--full", action="store_true", help="parts of a million events")
    given = parser.parse_args()
    part = 1_000_000 if given.full else 20_000 if given.quick else 100_000
    acls = 2_000 if given.quick else 20_000
    world = world_of(Shape(acls=acls, questions=min(240_000, part)))
    with tempfile.TemporaryDirectory() as folder:
        files = written(world, PARTS[-1] * part, Path(folder))
        print(f"{len(world.bindings):,} ACLs; parts of {part:,} events; us an event")
        print(f"{'':18}" + "".join(f"{parts * part:>13,}" for parts in PARTS) + "   ten of one")
        measure("local", Engine, world, files, part)
        if not given.quick:
            engine = spark()
            if engine is not None:
                measure("spark", lambda: engine, world, files, part)
                engine.close()


def written(world: World, count: int, folder: Path) -> tuple[str, ...]:
    """Write so many events as files of the same size, in the order of time."""
    table = decisions_of(world, count)
    files = PARTS[-1] * FILES_A_PART
    size = -(-len(table) // files)
    for number in range(files):
        table.slice(number * size, size).write_parquet(folder / f"{number:02}.parquet")
    return tuple(str(folder / f"{number:02}.parquet") for number in range(files))


def spark() -> Engine | None:
    """Return a session that has done something, and print what that took; None without Java."""
    # Half a second to import, and not installed everywhere.
    from doorkeeper_pipeline.engines.spark import SparkEngine
    from doorkeeper_pipeline.errors import PipelineError

    begin = time.perf_counter()
    try:
        engine = SparkEngine("local[*]")
        engine.session.range(1).count()
    except PipelineError as error:
        print(f"spark             not measured: {error}")
        return None
    print(f"spark's start: {time.perf_counter() - begin:.1f} s")
    return engine


def measure(
    name: str, engine: Callable[[], Engine], world: World, files: tuple[str, ...], part: int
) -> None:
    """Print what an event costs in each history; the local engine remembers nothing of it."""
    proposed = proposal_of(world.bindings)
    bindings = bindings_table(world.bindings)

    def asked(parts: int) -> GoldInput:
        return GoldInput(
            engine=engine(),
            decisions=files[: parts * FILES_A_PART],
            bindings=bindings,
            policy=world.policy,
        )

    jobs: dict[str, Callable[[int], object]] = {
        "backtest": lambda parts: changes_by(asked(parts), proposed),
        "usage": lambda parts: usage(asked(parts)),
    }
    for job, run in jobs.items():
        run(1)
        costs = []
        for parts in PARTS:
            begin = time.perf_counter()
            run(parts)
            costs.append((time.perf_counter() - begin) / (parts * part) * 1e6)
        ratio = costs[-1] / costs[0]
        verdict = "" if ratio <= GOAL else f"   over {GOAL}"
        print(
            f"{name} {job:12}"
            + "".join(f"{each:13.2f}" for each in costs)
            + f"{ratio:13.2f}{verdict}"
        )


if __name__ == "__main__":
    main()
