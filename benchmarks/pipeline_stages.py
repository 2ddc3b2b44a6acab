"""What does a run on a Spark cluster spend its time on, and what does its driver hold?

    python benchmarks/pipeline_stages.py [--lines N[,N...]] [--full]

A standalone cluster of two workers with one core each reads a made-up day in 24 files, all tables
made. Printed are the stages out of Spark's event log (those of less than half a percent together),
the task time of each worker, and the largest memory of the driver: its Python, and its Java.
``--full`` is 1,000,000 lines and 20,000,000. Goals: no stage with one task has more than 2 percent
of the task time, the workers' task times differ by at most 20 percent, and the driver holds as much
with twenty times the lines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from synthetic.shape import Shape
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log
from testkit.spark_cluster import standalone
from testkit.spark_releases import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LINES, LINES_FULL = "500000", "1000000,20000000"
PACKAGE = "doorkeeper_pipeline."
FILES = 24
SMALL = 0.005
LOOK_S = 0.5


class Stage(NamedTuple):
    """The tasks of a stage."""

    tasks: int
    task_s: float
    longest_s: float
    name: str


class Memory(NamedTuple):
    """The largest resident size of the driver's processes, in MB."""

    python: float
    java: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", default=LINES, help=f"how many, with commas between [{LINES}]")
    parser.add_argument("--full", action="store_true", help=f"the same as --lines {LINES_FULL}")
    options = parser.parse_args()
    for lines in map(int, (LINES_FULL if options.full else options.lines).split(",")):
        with tempfile.TemporaryDirectory(prefix="doorkeeper-stages-") as folder:
            measure(Path(folder), lines)


def measure(folder: Path, lines: int) -> None:
    """Write a log, run the pipeline over it, print the tables."""
    world = world_of(Shape())
    write_log(world, folder / "logs", Log(lines=lines, files=FILES, days=1))
    acls = write_acls(world, folder)["yaml"]
    (folder / "events").mkdir()
    (folder / "cluster").mkdir()
    with standalone(folder / "cluster", 2) as cluster:
        command = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--quiet"]
        command += ["--log", str(folder / "logs"), "--acls", str(acls)]
        command += ["--tables", str(folder / "out"), "--master", cluster.address]
        command += [
            "--conf",
            "spark.eventLog.enabled=true",
            "--conf",
            "spark.eventLog.compress=false",
        ]
        command += ["--conf", f"spark.eventLog.dir={folder / 'events'}"]
        begun_s = time.perf_counter()
        memory = run(command)
        wall_s = time.perf_counter() - begun_s
    stages, by_worker = read_events(folder / "events")
    if not stages:
        raise SystemExit(f"the event log of the run over {lines:,} lines has no tasks")
    print(f"{lines:,} lines in {FILES} files, two workers of one core: {wall_s:.0f} s")
    print(f"driver: Python {memory.python:.0f} MB, Java {memory.java:.0f} MB")
    times = sorted(by_worker.values())
    print(f"task time of the workers: {', '.join(f'{time_s:.0f} s' for time_s in times)}")
    print_stages(stages)


def print_stages(stages: list[Stage]) -> None:
    """Print a line for each stage that takes its part of the task time."""
    whole_s = sum(stage.task_s for stage in stages)
    print(f"{'share':>6} {'tasks':>6} {'task s':>8} {'longest':>8}  stage")
    small = [stage for stage in stages if stage.task_s < SMALL * whole_s]
    for stage in stages:
        if stage not in small:
            times = f"{stage.task_s:8.1f} {stage.longest_s:8.1f}"
            print(f"{stage.task_s / whole_s:6.1%} {stage.tasks:6} {times}  {stage.name}")
    if small:
        tasks, task_s = sum(stage.tasks for stage in small), sum(stage.task_s for stage in small)
        longest_s = max(stage.longest_s for stage in small)
        times = f"{task_s:8.1f} {longest_s:8.1f}"
        print(f"{task_s / whole_s:6.1%} {tasks:6} {times}  {len(small)} smaller ones")
    single = sum(stage.task_s for stage in stages if stage.tasks == 1)
    print(f"stages with one task: {single / whole_s:.1%} in all")


def run(command: list[str]) -> Memory:
    """Run the command to its end, and watch its memory."""
    paths = [ROOT / name for name in ("server", "protocol", "pipeline")]
    variables = HERE.environment(*paths)
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
    python = java = 0.0
    ended = threading.Event()

    def watch() -> None:
        nonlocal python, java
        while not ended.wait(LOOK_S):
            python = max(python, peak_mb(process.pid))
            java = max(java, *map(peak_mb, children(process.pid)), 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = process.wait()
    ended.set()
    watcher.join()
    if status not in (0, 4):  # 4: the ACLs contradict the log, and the tables are there
        raise SystemExit(f"the run ended with status {status}")
    return Memory(python, java)


def children(process: int) -> Iterator[int]:
    """Yield the processes that a process has started: the driver's Java."""
    for entry in Path(f"/proc/{process}/task").glob("*/children"):
        yield from map(int, entry.read_text().split())


def peak_mb(process: int) -> float:
    """Return the largest resident size that a process had; 0 if it has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return 0
    sizes = [line.split()[1] for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) / 1024 if sizes else 0


def read_events(folder: Path) -> tuple[list[Stage], dict[str, float]]:
    """Return the stages of an event log in their order, and the task seconds of each executor."""
    names: dict[int, str] = {}
    tasks: dict[int, list[float]] = defaultdict(list)
    by_worker: dict[str, float] = defaultdict(float)
    files = [path for path in folder.rglob("*") if path.is_file() and "appstatus" not in path.name]
    for path in files:
        with path.open() as log:
            for event in map(json.loads, log):
                if event["Event"] == "SparkListenerStageSubmitted":
                    description = event["Properties"].get("spark.job.description", "")
                    name = description or event["Stage Info"]["Stage Name"]
                    names[event["Stage Info"]["Stage ID"]] = name.removeprefix(PACKAGE)
                elif event["Event"] == "SparkListenerTaskEnd":
                    task = event["Task Info"]
                    time_s = (task["Finish Time"] - task["Launch Time"]) / 1000
                    tasks[event["Stage ID"]].append(time_s)
                    by_worker[task["Executor ID"]] += time_s
    stages = [
        Stage(len(times), sum(times), max(times), names.get(number, "?"))
        for number, times in sorted(tasks.items())
    ]
    return stages, by_worker


if __name__ == "__main__":
    main()
