"""Where does the server's time go?

    python benchmarks/profiling.py [--scenario NAME] [--acls NUMBER]

Each scenario runs against a server under cProfile, which sees the thread of the event loop and is
on for the scenario only. What took longest is written to benchmarks/profiles/NAME.txt: functions
by their own time, then by the time of all that they called. Times are two to three times too long,
most of all for small functions; shares are what to read.

    start            the process up to its first answer, with the ACLs in its store
    describe-first   the first description of all ACLs, of which nothing is kept
    describe-again   a description behind each of 50 changes
    creations        50 requests of 1,000 creations, one after the other
    deletions        50 requests that delete the 1,000 ACLs of a principal
    decisions        Metadata of 200 topics with authorized operations, never the same ones
"""

from __future__ import annotations

import argparse
import cProfile
import io
import platform
import pstats
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from versus import frames, worlds
from versus import over_the_wire as wire
from versus.loadgen import Load, run
from versus.targets import Caller, Doorkeeper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

PROFILES: Final = Path(__file__).parent / "profiles"
SHOWN: Final = 20
REQUESTS: Final = 50
WAIT_S: Final = 60
BEGIN, END = signal.SIGUSR1, signal.SIGUSR2


# --- the process that is looked at


def serve(written: Path, words: Sequence[str]) -> None:
    """Be a server whose profile begins and ends with signals; ``start`` begins with it."""
    profile = cProfile.Profile()

    def begin(_number: int = 0, _frame: FrameType | None = None) -> None:
        profile.enable()

    def end(_number: int, _frame: FrameType | None) -> None:
        profile.disable()
        profile.dump_stats(str(written.with_suffix(".new")))
        written.with_suffix(".new").rename(written)

    signal.signal(BEGIN, begin)
    signal.signal(END, end)
    at_once, *rest = words
    sys.argv = ["doorkeeper", *rest]
    if at_once == "start":
        begin()
    from doorkeeper.cli import main

    main()


class Profiled(Doorkeeper):
    """Ours, under the profiler."""

    def __init__(self) -> None:
        """Prepare."""
        super().__init__()
        self._plain = list(self.command)
        self._written = self.folder / "profile"

    def start_with(self, scenario: str) -> None:
        """Start."""
        words = ["--serve", str(self._written), scenario, *self._plain[3:]]
        self.command = [sys.executable, __file__, *words]
        self.start()

    def begin(self) -> None:
        """Let the profile begin; it has when the next answer is read."""
        self._signal(BEGIN)

    def end(self) -> Path:
        """Let the profile end; return where it is.

        Raises:
            RuntimeError: it did not come.

        """
        self._signal(END)
        caller = Caller(self.plain_port)
        deadline_s = time.monotonic() + WAIT_S
        while not self._written.exists():
            if time.monotonic() > deadline_s:
                raise RuntimeError("there is no profile")
            # A signal's handler runs when the loop does something.
            caller.ask(frames.frame(frames.API_VERSIONS))
            time.sleep(0.05)
        caller.close()
        return self._written

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


# --- what it is asked


def describe(caller: Caller) -> None:
    """Ask for everything once."""
    caller.ask(frames.describe())


def describe_again(caller: Caller) -> None:
    """Create an ACL, ask for everything, again and again."""
    for request in frames.create(frames.extra(1, REQUESTS, "again"), 1):
        caller.ask(request)
        caller.ask(frames.describe())


def create(caller: Caller) -> None:
    """Create ACLs, a thousand with each request."""
    for request in frames.create(frames.extra(REQUESTS, frames.PER_REQUEST, "many")):
        caller.ask(request)


def delete(caller: Caller) -> None:
    """Delete what a principal has, a thousand ACLs with each request."""
    added = frames.extra(REQUESTS, frames.PER_REQUEST, "many")
    for principal in dict.fromkeys(each.entry.principal for each in added):
        caller.ask(frames.delete(principal=principal))


def decide(caller: Caller) -> None:
    """Ask about other topics each time, as one who is no super user."""
    for request in frames.plain_login(worlds.BENCH_USER, "correct-horse"):
        caller.ask(request)
    for number in range(2 * REQUESTS):
        names = [f"bench-topic-{number}-{each}" for each in range(200)]
        caller.ask(frames.metadata(names, operations=True))


def nothing(_caller: Caller) -> None:
    """Ask for nothing."""


SCENARIOS: Final[dict[str, Callable[[Caller], None]]] = {
    "start": nothing,
    "describe-first": describe,
    "describe-again": describe_again,
    "creations": create,
    "deletions": delete,
    "decisions": decide,
}


# --- what is told


def profiled(scenario: str, acls: int) -> str:
    """Return the text of a scenario's profile."""
    target = Profiled()
    try:
        target.start_with("later")
        wire.prepare(target)
        run(target.plain_port, Load(frames=frames.create(worlds.bindings(acls)), once=True))
        if scenario == "deletions":
            added = frames.extra(REQUESTS, frames.PER_REQUEST, "many")
            run(target.plain_port, Load(frames=frames.create(added), once=True))
        target.stop()
        target.start_with(scenario)
        caller = Caller(target.sasl_port if scenario == "decisions" else target.plain_port)
        if scenario != "start":
            target.begin()
        SCENARIOS[scenario](caller)
        caller.close()
        return told(scenario, acls, target.end())
    finally:
        target.close()


def told(scenario: str, acls: int, profile: Path) -> str:
    """Return the text of a profile."""
    stream = io.StringIO()
    stats = pstats.Stats(str(profile), stream=stream).strip_dirs()
    for order in ("tottime", "cumulative"):
        stats.sort_stats(order).print_stats(SHOWN)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    # When it was made, and where its raw form was for a moment, says nothing.
    kept = [line for line in lines if line and not re.match(r"[A-Z][a-z]{2} [A-Z]", line)]
    made = f"{scenario}, {acls:,} ACLs, Python {platform.python_version()}"
    return "\n".join([made, *kept, ""])


def main() -> None:
    """Write the profiles."""
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", choices=SCENARIOS, help="one of them; all without it")
    parser.add_argument("--acls", type=int, default=100_000)
    options = parser.parse_args()
    PROFILES.mkdir(exist_ok=True)
    for scenario in [options.scenario] if options.scenario else SCENARIOS:
        (PROFILES / f"{scenario}.txt").write_text(profiled(scenario, options.acls))
        print(f"benchmarks/profiles/{scenario}.txt")


if __name__ == "__main__":
    main()
