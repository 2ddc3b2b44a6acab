"""Every question that a handler asks the authorizer is the one that a broker's handler asks.

Both servers write every decision to their audit log (TRACE); random requests and the catalogues go
to both, and the lines about alice and bob are compared as multisets: operation, resource, outcome,
level, which tells the log flags, reference count and rule.

What a broker writes besides is about other principals: CLUSTER_ACTION of itself for each request
that it forwards to its controller, and what ANONYMOUS, a super user, prepares. Requests that alter
keys are asked about on the broker, again on its controller where it forwards them, and again each
time that it forwards anew (a topic's unknown key, some twenty times): of those lines each counts
once, on both sides.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from testkit.credential_cases import CREDENTIAL_SCENARIOS
from testkit.frame_cases import SCENARIOS
from testkit.frame_steps import Scenario
from testkit.kafka_jars import BROKERS
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.or_skip import or_skip
from testkit.random_requests import RandomRequests
from testkit.side_by_side import INTERNAL_TOPICS, Side

OF_KAFKA = re.compile(r"(TRACE|DEBUG|INFO) kafka\.authorizer\.logger - (.*)")

ABOUT = ("Principal = User:alice ", "Principal = User:bob ")

FORWARDED_AGAIN = ("for request = IncrementalAlterConfigs ", "for request = AlterConfigs ")

SEQUENCES, STEPS = 12, 40

CAUGHT_UP_S = 20
"""How long a line may take from the decision to the file."""

Lines = Counter[tuple[str, str]]


class Audit:
    """What a server has written about decisions since it was last asked."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._read = 0

    def lines(self) -> Lines:
        """Return the new lines about alice and bob: level and text."""
        with self._target.server.log.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
            self._read += len(whole) + bool(whole)
        parse = _of_kafka if self._target.is_kafka else _of_ours
        found = (parse(line) for line in whole.decode().splitlines())
        return Counter(each for each in found if each and each[1].startswith(ABOUT))


def _of_kafka(line: str) -> tuple[str, str] | None:
    found = OF_KAFKA.search(line)
    return (found[1], found[2]) if found else None


def _of_ours(line: str) -> tuple[str, str] | None:
    if '"kafka.authorizer.logger"' not in line:
        return None
    entry = json.loads(line)
    return entry["level"].upper(), entry["event"]


class Watched:
    """A server, its clients and its audit."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.side = Side(target)
        self.audit = Audit(target)
        self.side.coordinator()

    def close(self) -> None:
        self.side.close()
        self.target.close()


EARLY = re.compile(r"Cluster:LITERAL:kafka-cluster for request = (Incremental)?AlterConfigs ")
"""Lines of changes of brokers' keys, which a broker 4.4.0 authorizes before it looks for faults."""


# The log beside 4.3.1 is the quick half; both releases decide and log by the same code.
_VERSIONS = [BROKERS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in BROKERS[1:])]


@pytest.fixture(scope="module", params=_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name the releases of the broker in turn."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def reference(version: str) -> Iterator[Watched]:
    """Give a real broker that writes every decision."""
    running = or_skip(lambda: kafka_target(version, audit_level="trace"))
    watched = Watched(running)
    yield watched
    watched.close()


@pytest.fixture(scope="module")
def ours(version: str) -> Iterator[Watched]:
    """Give a Doorkeeper that does too."""
    levels = {"doorkeeper.log.levels": "kafka.authorizer.logger=TRACE"}
    watched = Watched(doorkeeper_target(version, INTERNAL_TOPICS, **levels))
    yield watched
    watched.close()


def settled(read: Callable[[], Lines], expected: int) -> Lines:
    """Read until there are as many lines as expected, or none comes for a while."""
    lines = read()
    deadline = time.monotonic() + CAUGHT_UP_S
    while lines.total() < expected and time.monotonic() < deadline:
        time.sleep(0.01)
        lines += read()
    return lines


def each_forwarded_once(lines: Lines) -> Lines:
    """Return the lines with one of each that a broker may repeat."""
    return Counter(
        {
            line: 1 if any(name in line[1] for name in FORWARDED_AGAIN) else count
            for line, count in lines.items()
        }
    )


def comparable(lines: Lines, version: str) -> Lines:
    """Return the lines without those of the accepted difference ``early-refusals``."""
    if version != "4.4.0":
        return lines
    return Counter({line: count for line, count in lines.items() if not EARLY.search(line[1])})


def random_scenarios() -> Iterator[Scenario]:
    """Yield sequences of random requests; their seeds are fixed."""
    for seed in range(1, 1 + SEQUENCES):
        stream = RandomRequests(seed)
        steps = (*stream.world(), *(stream.step() for _ in range(STEPS)))
        yield Scenario(f"random requests {seed}", steps)


AUDITED = [
    each
    for each in (*random_scenarios(), *SCENARIOS, *CREDENTIAL_SCENARIOS)
    if any(step.user in ("alice", "bob") for step in each.steps)
]


@pytest.mark.parametrize("scenario", AUDITED, ids=[s.name for s in AUDITED])
def test_scenario(scenario: Scenario, reference: Watched, ours: Watched, version: str) -> None:
    """The lines of every step are the broker's: same number, level, count, outcome and rule."""
    differences = []
    for watched in (reference, ours):
        watched.side.clear()
        if scenario.topics:
            watched.side.make(scenario.topics)
        watched.audit.lines()
    for number, step in enumerate(scenario.steps):
        for watched in (reference, ours):
            watched.side.ask(step)
        expected = comparable(each_forwarded_once(reference.audit.lines()), version)
        lines = settled(ours.audit.lines, expected.total())
        found = comparable(each_forwarded_once(lines), version)
        if expected != found:
            differences.append(f"step {number}, {step.user}, v{step.version} {step.request}")
            differences += [f"  only kafka: {n} x {line}" for line, n in (expected - found).items()]
            differences += [f"  only we:    {n} x {line}" for line, n in (found - expected).items()]
    assert not differences, "\n".join(differences)
