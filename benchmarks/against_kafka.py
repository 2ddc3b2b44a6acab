"""Is Doorkeeper ahead of a real broker in everything that an administrator or a client waits for?

    python benchmarks/against_kafka.py [--quick] [--output FILE] [--only PART]

Both are started on this machine, hold the same ACLs, and answer the same frames in turn. The
result is a page of Markdown, by default benchmarks/RESULTS.md; then README.md gets five numbers of
it. Without Java and Kafka's jars only ours is measured. benchmarks/README.md says what the rows
are, and why they are measured so.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from typing import TYPE_CHECKING

from testkit.kafka_jars import Jars, Unavailable, jars
from versus import in_process, worlds
from versus import over_the_wire as wire
from versus.calls import reads
from versus.five import inserted
from versus.loadgen import Failed
from versus.page import java_version, page, progress
from versus.table import KAFKA, KAFKA_EAGER, OURS, Table
from versus.targets import Doorkeeper, Kafka, Target, load_average

if TYPE_CHECKING:
    from versus.in_process import Timed

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
README = HERE.parent / "README.md"
RELEASE = "4.3.1"
SIZES = (1_000, 10_000, 100_000)
QUICK_SIZES = (10_000,)
ALONE = 1_000_000
"""The number of ACLs at which only ours is measured over the wire."""
IDLE = 1_000
WARM_S = {OURS: 3.0, KAFKA: 15.0}
"""A JVM compiles what it runs often; ours has nothing to compile."""


class Run:
    """One run: the table, the servers, and what is left of them at the end."""

    def __init__(self, found: Jars | None, *, quick: bool) -> None:
        """Take Kafka's jars, None for a run without a broker."""
        self.table = Table()
        self.jars = found
        self.effort = wire.QUICK if quick else wire.FULL
        self.quick = quick
        self.sizes: tuple[int, ...] = QUICK_SIZES if quick else SIZES
        self.opened = ExitStack()

    def servers(self) -> list[Target]:
        """Return both, not started."""
        made: list[Target] = [Doorkeeper()]
        if self.jars is not None:
            made.append(Kafka(self.jars))
        for each in made:
            self.opened.callback(each.close)
        return made

    def over_the_wire(self) -> None:
        """Measure both at all sizes, with more and more ACLs in the same servers."""
        targets = self.servers()
        for target in targets:
            progress(f"{target.name}: start, topics, users")
            target.start()  # compiles bytecode, makes the store
            wire.measure_starts(self.table, target, 0, self.effort)
            wire.measure_idle_connections(self.table, target, IDLE)
            wire.prepare(target)
        for acls in self.sizes:
            self._at(targets, acls)
        wire.measure_logins(self.table, targets, self.effort)
        progress("one beside the other")
        wire.measure_beside(self.table, targets, self.sizes[-1], self.effort)
        for target in targets:
            wire.holds(target, self.sizes[-1] + len(list(worlds.bench_rights())))
            row = self.table.row("memory, after serving", "", self.sizes[-1], "MB", more=False)
            row.add(target.name, target.memory_mb())
        for target in targets:
            progress(f"{target.name}: start with {self.sizes[-1]:,} ACLs")
            wire.measure_starts(self.table, target, self.sizes[-1], self.effort)
            target.close()

    def _at(self, targets: list[Target], acls: int) -> None:
        world = list(worlds.bindings(acls))
        calls = reads(world)
        for target in targets:
            progress(f"{target.name}: {acls:,} ACLs")
            wire.grow(self.table, target, world, acls)
            wire.holds(target, acls + len(list(worlds.bench_rights())))
            wire.warmed(target, calls, 1.5 if self.quick else WARM_S[target.name])
        wire.compare_answers(targets, calls)
        if acls == self.sizes[0]:
            for target in targets:
                row = self.table.row("memory, after serving", "", 0, "MB", more=False)
                row.add(target.name, target.memory_mb())
        progress(f"reads at {acls:,} ACLs")
        wire.measure_reads(self.table, targets, calls, acls, self.effort)
        progress(f"changes at {acls:,} ACLs")
        wire.measure_after_changes(self.table, targets, calls, acls, self.effort)
        wire.measure_changes(self.table, targets, acls, self.effort, bulk=not self.quick)
        if acls != self.sizes[-1]:
            # The next world is another one.
            for target in targets:
                wire.empty(target, world)

    def eager_broker(self) -> None:
        """Measure changes on a broker that waits for no company."""
        if self.jars is None or self.quick:
            return
        progress("Kafka with controller.quorum.append.linger.ms=0")
        target = Kafka(self.jars, {"controller.quorum.append.linger.ms": "0"})
        target.name = KAFKA_EAGER
        self.opened.callback(target.close)
        target.start()
        acls = 10_000
        world = list(worlds.bindings(acls))
        wire.grow(self.table, target, world, acls)
        wire.holds(target, acls)
        wire.measure_changes(self.table, [target], acls, self.effort)
        target.close()

    def a_million(self) -> None:
        """Measure ours with more ACLs than brokers are used with."""
        if self.quick:
            return
        target = Doorkeeper()
        self.opened.callback(target.close)
        progress(f"{target.name}: {ALONE:,} ACLs")
        target.start()
        wire.prepare(target)
        world = list(worlds.bindings(ALONE))
        wire.grow(self.table, target, world, ALONE)
        calls = reads(world)
        few = self.effort._replace(rounds=1, starts=1)
        wire.measure_reads(self.table, [target], calls, ALONE, few)
        wire.measure_after_changes(self.table, [target], calls, ALONE, few)
        wire.measure_changes(self.table, [target], ALONE, few)
        row = self.table.row("memory, after serving", "", ALONE, "MB", more=False)
        row.add(target.name, target.memory_mb())
        wire.measure_starts(self.table, target, ALONE, few)
        target.close()

    def in_process(self) -> None:
        """Measure authorizers without a wire."""
        all_jars = None if self.jars is None else jars(RELEASE, in_process.JAVA_SOURCES)
        rounds, round_ms = (2, 150) if self.quick else (5, 500)
        for acls in QUICK_SIZES if self.quick else (*SIZES, ALONE):
            found = None if acls == ALONE else all_jars
            for kind, wildcards in (("plain", False), ("wildcards", True)):
                progress(f"in process, {acls:,} ACLs, {kind}")
                pair = in_process.measure(
                    found, acls, wildcards=wildcards, rounds=rounds, round_ms=round_ms
                )
                for side, timed in ((OURS, pair.ours), (KAFKA, pair.kafka)):
                    if timed is not None:
                        self._note_in_process(side, timed, kind, acls)

    def _note_in_process(self, side: str, timed: Timed, kind: str, acls: int) -> None:
        for name, unit, values in (
            (f"authorize(), {kind}", "us", timed.authorize_us),
            (f"authorizeByResourceType, {kind}", "us", timed.by_type_us),
            (f"load into the authorizer, {kind}", "ms", [timed.load_ms]),
        ):
            row = self.table.row(name, "in process", acls, unit, more=False)
            for value in values:
                row.add(side, value)


PARTS = ("over_the_wire", "eager_broker", "a_million", "in_process")


def main() -> None:
    """Measure, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="10,000 ACLs, one short round: a minute"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    options = parser.parse_args()
    begun, before = time.monotonic(), load_average()
    try:
        found = jars(RELEASE, in_process.JAVA_SOURCES)
        kafka = f"Kafka {RELEASE} (KRaft, one node, StandardAuthorizer, -Xmx1G), {java_version()}"
    except Unavailable as error:
        found, kafka = None, f"no Kafka: {error}"
    run = Run(found, quick=options.quick)
    failures = []
    with run.opened:
        for part in PARTS:
            if options.only in (None, part):
                try:
                    getattr(run, part)()
                except Failed as error:  # what was measured before is written all the same
                    failures.append(f"{part}: {error}")
    text = page(
        run.table,
        command=shlex.join(["python", "benchmarks/against_kafka.py", *sys.argv[1:]]),
        loads=(before, load_average()),
        kafka=kafka,
        took_s=time.monotonic() - begun,
    )
    options.output.write_text(text)
    if options.output == RESULTS:
        README.write_text(inserted(README.read_text(), run.table))
    print(text)
    if failures:
        sys.exit(f"incomplete: {'; '.join(failures)}")


if __name__ == "__main__":
    main()
