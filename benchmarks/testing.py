"""How soon is a server for a test ready, and what does a clean state for the next test cost?

    python benchmarks/testing.py [--quick]

In process: the first fixture in a run of pytest, and what the plugin has imported before when the
tests were collected; importing the class in a Python that has imported nothing, and the first start
then, in processes of their own; then starts and resets in one process, with a login made ready as
well. As a process: from the call until a client may connect.
Goals: 100 ms in process, 250 ms as a process. The baseline is a process that does nothing, ``python
-c pass``. Bytecode is there, as in an installed package.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from doorkeeper.testing import DoorkeeperProcess, DoorkeeperServer

if TYPE_CHECKING:
    from collections.abc import Callable

IN_PROCESS_MS = 100
AS_PROCESS_MS = 250
FIRST = """
import time
from doorkeeper.testing import DoorkeeperServer
begin_s = time.perf_counter()
server = DoorkeeperServer()
server.start()
print((time.perf_counter() - begin_s) * 1000)
server.close()
"""
IMPORT = """
import time
begin_s = time.perf_counter()
from doorkeeper.testing import DoorkeeperServer
print((time.perf_counter() - begin_s) * 1000)
"""
FIRST_OF_PYTEST = """
import sys, time, pytest

class Taken:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_finish(self):
        begin_s = time.perf_counter()
        yield
        self.imports_ms = (time.perf_counter() - begin_s) * 1000

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        begin_s = time.perf_counter()
        yield
        if fixturedef.argname == "doorkeeper_server":
            self.fixture_ms = (time.perf_counter() - begin_s) * 1000

with open(sys.argv[1] + "/test_it.py", "w") as file:
    file.write("def test_it(doorkeeper_server): assert doorkeeper_server.bootstrap_servers")
taken, out, sys.stdout = Taken(), sys.stdout, sys.stderr
arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", sys.argv[1], sys.argv[1]]
assert pytest.main(arguments, plugins=[taken]) == 0
print(getattr(taken, sys.argv[2]), file=out)
"""
KINDS: dict[str, dict[str, Any]] = {
    "in clear": {},
    "SASL, 2 users": {"users": {"alice": "alice-secret"}},
    "SASL and TLS": {"users": {"alice": "alice-secret"}, "listeners": ["SASL_SSL"]},
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 25
    print(f"a server for a test, ms: median (least) of {rounds}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        nothing = measured(rounds, lambda: run_python("pass"))
        print(f"  python -c pass: {shown(nothing)}")
        print(f"in process, goal {IN_PROCESS_MS}")
        print(first_of_pytest(folder, rounds))
        imported = measured(rounds, lambda: run_python(IMPORT))
        first = measured(rounds, lambda: run_python(FIRST))
        print(f"  without pytest: import {shown(imported)}; the first one: {shown(first)}")
        for name, options in KINDS.items():
            starts = measured(rounds, partial(started, options))
            with DoorkeeperServer(**options) as server:
                resets = measured(rounds, partial(timed, server.reset))
            print(f"  {name}: start {shown(starts)}, reset {shown(resets)}")
        print(f"as a process, goal {AS_PROCESS_MS}")
        for name, options in KINDS.items():
            starts = measured(rounds, partial(started_process, options))
            print(f"  {name}: start {shown(starts)}; ratio {median(starts) / median(nothing):.1f}")


def first_of_pytest(folder: str, rounds: int) -> str:
    """Return how long the first server takes in a run of pytest, and what is imported before."""
    first = measured(rounds, lambda: run_python(FIRST_OF_PYTEST, folder, "fixture_ms"))
    imports = measured(rounds, lambda: run_python(FIRST_OF_PYTEST, folder, "imports_ms"))
    return (
        f"  the first one in a run of pytest: {shown(first)};"
        f" imports before, behind the collection: {shown(imports)}"
    )


def measured(rounds: int, measure: Callable[[], float]) -> list[float]:
    """Return the times of some rounds after one that does not count."""
    measure()
    return [measure() for _ in range(rounds)]


def shown(times: list[float]) -> str:
    """Return median and least."""
    return f"{median(times):.1f} ({min(times):.1f})"


def timed(work: Callable[[], object]) -> float:
    """Return how many ms something takes."""
    begin_s = time.perf_counter()
    work()
    return (time.perf_counter() - begin_s) * 1000


def run_python(code: str, *arguments: str) -> float:
    """Run code in a Python of its own; return the ms that it prints, or those that it takes."""
    command = [sys.executable, "-c", code, *arguments]
    begin_s = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout or (time.perf_counter() - begin_s) * 1000)


def started(options: dict[str, Any]) -> float:
    """Return how long a new server in this process takes to be ready."""
    server = DoorkeeperServer(**options)
    try:
        return timed(server.start)
    finally:
        server.close()


def started_process(options: dict[str, Any]) -> float:
    """Return how long a new process takes to be ready."""
    server = DoorkeeperProcess(**options)
    try:
        return timed(server.start)
    finally:
        server.close()


if __name__ == "__main__":
    main()
