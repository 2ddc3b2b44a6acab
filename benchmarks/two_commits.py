"""Is one commit of Doorkeeper faster or slower than another one?

    python benchmarks/two_commits.py OLD [NEW] [--rounds N] [--acls N]

Both run on this machine with the packages of this interpreter, each as a server of its own that
holds the same ACLs, and answer the same frames in turn, round after round: what else the machine
does slows down both. NEW is by default the files of this checkout. Printed are the medians, their
ratio (above 1: NEW is better), and the lowest and highest ratio of a round: where these are far
apart the row says nothing. A commit is taken from git; it needs no packages that the other does not
need.

Goal: no row below 0.9.
"""

from __future__ import annotations

import argparse
import compileall
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from versus import over_the_wire as wire
from versus import worlds
from versus.calls import reads
from versus.page import progress
from versus.table import Row, Table
from versus.targets import Doorkeeper, load_average

ROOT = Path(__file__).parents[1]
GOAL = 0.9
WARM_S = 1.5


class Commit(Doorkeeper):
    """A server that runs the files of a folder."""

    def __init__(self, name: str, folder: Path) -> None:
        """``folder`` has ``server`` and ``protocol``."""
        super().__init__()
        self.name = name
        paths = [str(folder / part) for part in ("server", "protocol")]
        # An installed package is compiled; where PYTHONDONTWRITEBYTECODE is set, a start would
        # compile all modules anew.
        for path in paths:
            compileall.compile_dir(path, quiet=1)
        self.environment = {**(self.environment or {}), "PYTHONPATH": os.pathsep.join(paths)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", metavar="OLD", help="a commit, such as HEAD~20 or a tag")
    parser.add_argument("new", metavar="NEW", nargs="?", help="another one [this checkout]")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each row [5]")
    parser.add_argument("--acls", type=int, default=10_000, help="ACLs that both hold [10000]")
    options = parser.parse_args()
    if options.rounds < 1 or options.acls < 1:
        parser.error("--rounds and --acls are at least 1")
    before = load_average()
    with ExitStack() as opened:
        sides: list[Commit] = []
        for side, commit in (("old", options.old), ("new", options.new)):
            folder = ROOT
            if commit is not None:
                folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix=f"{side}-")))
                extract(commit, folder)
            sides.append(Commit(side, folder))
            opened.callback(sides[-1].close)
        table = measure(sides, options.rounds, options.acls)
    print(f"old: {options.old}, new: {options.new or 'this checkout'}; load before {before:.2f}")
    for line in lines(table):
        print(line)


def extract(commit: str, folder: Path) -> None:
    """Write the files of a commit that a server needs into a folder."""
    command = ["git", "archive", "--format=tar", commit, "server", "protocol"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{commit}: git has no such commit: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def measure(sides: list[Commit], rounds: int, acls: int) -> Table:
    """Measure starts, memory, reads and changes; each round begins with the other side."""
    table = Table()
    effort = wire.QUICK._replace(time_s=0.5, changes_s=1.0)
    world = list(worlds.bindings(acls))
    calls = reads(world)
    for side in sides:
        progress(f"{side.name}: start, {acls:,} ACLs")
        side.start()
        wire.prepare(side)
        wire.grow(table, side, world, acls)
        wire.holds(side, acls + len(list(worlds.bench_rights())))
        wire.warmed(side, calls, WARM_S)
    wire.compare_answers(sides, calls)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        in_turn = sides if number % 2 == 0 else sides[::-1]
        wire.measure_reads(table, in_turn, calls, acls, effort)
        wire.measure_after_changes(table, in_turn, calls, acls, effort)
        wire.measure_changes(table, in_turn, acls, effort)
    for side in sides:
        row = table.row("memory, after serving", "", acls, "MB", more=False)
        row.add(side.name, side.memory_mb())
    for number in range(rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            wire.measure_starts(table, side, acls, effort)
    return table


def lines(table: Table) -> list[str]:
    """Return the table as lines, and what misses the goal at the end."""
    made = [f"{'':54}{'':7}{'old':>10}{'new':>10}{'ratio':>7}  of rounds"]
    missed = []
    for row in table.rows.values():
        found = ratios(row)
        if not found:
            continue
        old, new = row.of("old"), row.of("new")
        ratio = median(found)
        name = f"{row.name}, {row.how}" if row.how else row.name
        span = f"{min(found):.2f} to {max(found):.2f}"
        made.append(f"{name[:53]:54}{row.unit:7}{old:>10.5g}{new:>10.5g}{ratio:>7.2f}  {span}")
        if ratio < GOAL:
            missed.append(name)
    return [*made, f"below {GOAL:g}: {'; '.join(missed) or 'none'}"]


def ratios(row: Row) -> list[float]:
    """Return how many times better the new side was in each round."""
    pairs = zip(row.values.get("old", ()), row.values.get("new", ()), strict=False)
    return [new / old if row.more else old / new for old, new in pairs if old and new]


if __name__ == "__main__":
    main()
