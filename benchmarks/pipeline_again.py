"""What does a run cost when little is new, or nothing?

    python benchmarks/pipeline_again.py [--lines N] [--full] [--engine local|spark]

A made-up log in 24 files is read by ``doorkeeper-pipeline run``, all tables made: once, once more
with nothing new, and once more with one new file of a twenty-fourth of the lines. Then the news of
a day, a tenth of the lines, are read after a history of one day and after one of ten. Each run is a
process of its own; ``cpu`` is its processor time with that of its children, which says more than
``wall`` on a machine that does something else too. Goals, in processor time: nothing new at most 2
percent of the first run, a twenty-fourth at most 8; after ten days at most 1.2 times what the same
news cost after one.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LINES, LINES_FULL = 500_000, 5_000_000
FILES = 24
DAYS = 10


class Cost(NamedTuple):
    """The seconds of a run, and the most memory of any run so far, in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--full", action="store_true", help=f"{LINES_FULL:,} lines")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    given = parser.parse_args()
    lines = LINES_FULL if given.full else given.lines
    # What a first start compiles belongs to no run.
    subprocess.run(
        [sys.executable, "-c", "import doorkeeper_pipeline.jobs.run"], env=environment(), check=True
    )
    for part in (measure, measure_histories):
        with tempfile.TemporaryDirectory(prefix="doorkeeper-again-") as folder:
            part(Path(folder), lines, given.engine)


def write(folder: Path, lines: int, files: int, days: int) -> tuple[list[Path], Path]:
    """Write a log in some files, and ACLs; return the files in the order of time, and the ACLs."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from synthetic.shape import Shape
    from synthetic.traffic import world_of
    from synthetic.writing import Log, write_acls, write_log

    world = world_of(Shape())
    written = write_log(world, folder / "all", Log(lines=lines, files=files, days=days))
    return list(written.paths), write_acls(world, folder)["yaml"]


def measure(folder: Path, lines: int, engine: str) -> None:
    """Write a log, run three times, print the costs and their ratios."""
    (*first, last), acls = write(folder, lines, FILES, 1)
    logs = folder / "logs"
    logs.mkdir()
    for path in first:
        shutil.move(path, logs)
    print(f"{lines:,} lines in {FILES} files, {engine}")
    print(f"{'':12} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}   of the first: wall, cpu")
    costs = []
    for name in ("first", "nothing new", "1/24 new"):
        if name == "1/24 new":
            shutil.move(last, logs)
        costs.append(run(logs, acls, folder / "out", engine))
        wall, cpu, peak = costs[-1]
        ratios = f"{wall / costs[0].wall_s:6.1%} {cpu / costs[0].cpu_s:6.1%}"
        print(f"{name:12} {wall:8.1f} {cpu:8.1f} {peak:8.0f}   {ratios}", flush=True)


def measure_histories(folder: Path, lines: int, engine: str) -> None:
    """Run with the news of a day after a history of one day, and of ten; print the ratio."""
    day = lines // DAYS
    (*earlier, last), acls = write(folder, day * (DAYS + 1), DAYS + 1, DAYS + 1)
    costs = []
    for days in (1, DAYS):
        logs, out = folder / f"logs{days}", folder / f"out{days}"
        logs.mkdir()
        for path in earlier[-days:]:
            shutil.copy2(path, logs)
        run(logs, acls, out, engine)
        shutil.copy2(last, logs)
        costs.append(run(logs, acls, out, engine))
        wall, cpu, peak = costs[-1]
        ratio = f"{wall / costs[0].wall_s:6.2f} {cpu / costs[0].cpu_s:6.2f}"
        name = f"after {days} days" if days > 1 else f"{day:,} lines"
        print(f"{name:14} {wall:6.1f} {cpu:8.1f} {peak:8.0f}   of one day: {ratio}", flush=True)


def environment() -> dict[str, str]:
    """Return the environment of a run: bytecode is kept, as where a package is installed."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(logs: Path, acls: Path, out: Path, engine: str) -> Cost:
    """Run the command; return what it cost."""
    command = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--quiet", "--engine", engine]
    command += ["--log", str(logs), "--acls", str(acls), "--tables", str(out)]
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    wall_s = time.perf_counter() - begin_s
    if done.returncode not in (0, 4):  # 4: the ACLs contradict the log, and the tables are there
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall_s, cpu_s, after.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
