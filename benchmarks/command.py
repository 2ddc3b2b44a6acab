"""How long does an administrator wait for one command?

    python benchmarks/command.py [--quick]

``doorkeeper acls list`` and ``kafka-acls.sh --list`` (its class in a JVM of its own, without the
shell around it), in turns against the same server, from the start of the process to its end. Both
have what a second start has: bytecode, and files in memory. Goal: a fifth. Beside them
``python -c pass``, the least that any Python can take.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from testkit.kafka_jars import VERSIONS, Unavailable, jars
from testkit.kafka_tools import command
from testkit.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Sequence

GOAL = 5
ACLS = 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 11
    try:
        tool = command(jars(VERSIONS[0]), "kafka-acls")
    except Unavailable as missing:
        print(f"not measured: {missing}")
        return
    ours = [sys.executable, "-m", "doorkeeper", "acls"]
    with tempfile.TemporaryDirectory() as folder, Serving(Path(folder)) as server:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        where = ("--bootstrap-server", f"localhost:{server.port()}")
        names = [word for number in range(ACLS) for word in ("--topic", f"topic-{number}")]
        run([*ours, "add", *where, "--allow-principal", "User:a", *names])
        rows = {
            "kafka-acls.sh --list": [*tool, *where, "--list"],
            "doorkeeper acls list": [*ours, "list", *where],
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        took: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(rounds + 1):
            for name, words in rows.items():
                took[name].append(run(words))
    print(f"one command to its end, {ACLS} ACLs, median (least) of {rounds}; goal 1/{GOAL}")
    kafka = median(took["kafka-acls.sh --list"][1:])
    for name, times in took.items():
        typical = median(times[1:])
        ratio = f"{kafka / typical:5.1f} x" if typical else ""
        print(f"  {name:22} {typical:6.0f} ms ({min(times[1:]):4.0f}) {ratio}")


def run(words: Sequence[str]) -> float:
    """Run a command that must succeed; return how long it took, in ms."""
    begun = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main()
