"""How long is it from one record's produce to its poll, on the test broker and on a broker?

    python benchmarks/produce_and_poll.py [--quick]

A member of a group of its own waits for records. A record is produced and acknowledged, and polled
until it is there: one after the other, with kafka-python, librdkafka (confluent-kafka) and Kafka's
Java client, each with its default settings, on Doorkeeper with doorkeeper.test.broker=true and on a
broker of one node in turn, in blocks of rounds. Goal: p99 at most the broker's.

Prints a table, and writes it to benchmarks/RESULTS-poll.md, not with --quick.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final, Protocol

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic

from testkit.clients import CLIENTS
from testkit.java_lines import JAVA
from testkit.kafka_jars import jars
from versus.targets import Doorkeeper, Kafka, Target, load_average

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "RESULTS-poll.md"
JAVA_SOURCES: Final = HERE / "versus" / "java_clients"
RELEASE: Final = "4.3.1"
VALUE: Final = bytes(100)
WAIT_S: Final = 60
ROUNDS: Final = 100
"""Rounds of a block; the servers take turns by blocks."""


class Pair(Protocol):
    """A producer and a consumer of one library on one server."""

    def rounds(self, count: int) -> list[float]:
        """Return the seconds of each round."""
        ...

    def close(self) -> None: ...


class KafkaPython:
    """kafka-python."""

    def __init__(self, address: str, topic: str, group: str) -> None:
        """Connect."""
        self._topic = topic
        self._producer = KafkaProducer(bootstrap_servers=address)
        self._consumer = KafkaConsumer(
            topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest"
        )

    def rounds(self, count: int) -> list[float]:
        """Produce and poll."""
        return [seconds_of(self._round) for _ in range(count)]

    def _round(self) -> None:
        self._producer.send(self._topic, VALUE).get(WAIT_S)
        polled(lambda: self._consumer.poll(timeout_ms=1000))

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False)
        self._producer.close()


class Librdkafka:
    """confluent-kafka, which is librdkafka."""

    def __init__(self, address: str, topic: str, group: str) -> None:
        """Connect."""
        module = import_module("confluent_kafka")
        settings = {"bootstrap.servers": address, "log_level": 0}
        self._topic = topic
        self._producer = module.Producer(settings)
        self._consumer = module.Consumer(
            {**settings, "group.id": group, "auto.offset.reset": "earliest"}
        )
        self._consumer.subscribe([topic])

    def rounds(self, count: int) -> list[float]:
        """Produce and poll."""
        return [seconds_of(self._round) for _ in range(count)]

    def _round(self) -> None:
        self._producer.produce(self._topic, VALUE)
        if self._producer.flush(WAIT_S):
            raise RuntimeError(f"the record was not acknowledged in {WAIT_S} s")
        polled(self._message)

    def _message(self) -> object:
        message = self._consumer.poll(1.0)
        if message is not None and message.error() is not None:
            raise RuntimeError(str(message.error()))
        return message

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()


class Java:
    """Kafka's own client, in a JVM that stays."""

    def __init__(self, address: str, topic: str, group: str) -> None:
        """Start the JVM."""
        classpath = jars(RELEASE, JAVA_SOURCES).classpath
        self._process = subprocess.Popen(
            [*JAVA, "-cp", classpath, "ProduceAndPoll", address, topic, group],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rounds(self, count: int) -> list[float]:
        """Produce and poll."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the JVM ended")
        found: list[float] = json.loads(line)
        return found

    def close(self) -> None:
        """End the JVM."""
        self._process.kill()
        self._process.communicate()


def polled(poll: Callable[[], object]) -> None:
    """Poll until there is a record.

    Raises:
        RuntimeError: there is none in a minute.
    """
    until_s = time.monotonic() + WAIT_S
    while not poll():
        if time.monotonic() > until_s:
            raise RuntimeError(f"the record was not read in {WAIT_S} s")


def seconds_of(work: Callable[[], None]) -> float:
    """Return how long it takes, in seconds."""
    begin_s = time.perf_counter()
    work()
    return time.perf_counter() - begin_s


def libraries() -> Mapping[str, Callable[[str, str, str], Pair]]:
    """Return the libraries; each needs its packages, Java its jars."""
    (client,) = (each for each in CLIENTS if each.name == "confluent-kafka")
    sys.path.append(str(client.site_packages()))
    return {"kafka-python": KafkaPython, "librdkafka": Librdkafka, "Java": Java}


def opened(library: Callable[[str, str, str], Pair], target: Target) -> Pair:
    """Return a pair of clients over a topic of their own."""
    address, topic = f"127.0.0.1:{target.plain_port}", f"poll-{uuid.uuid4().hex}"
    with closing(KafkaAdminClient(bootstrap_servers=address)) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])
    return library(address, topic, topic)


def measured(
    library: Callable[[str, str, str], Pair], targets: Sequence[Target], blocks: int, rounds: int
) -> list[list[float]]:
    """Return the seconds of all rounds of each server; a first block of each warms up."""
    with ExitStack() as stack:
        pairs = [stack.enter_context(closing(opened(library, each))) for each in targets]
        seconds: list[list[float]] = [[] for _ in targets]
        for number in range(blocks + 1):
            for pair, of_server in zip(pairs, seconds, strict=True):
                took = pair.rounds(rounds)
                if number:
                    of_server.extend(took)
    return seconds


def p99(seconds: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return quantiles(seconds, n=100)[98]


def rows(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Iterable[str]:
    """Return the lines of one library."""
    for kind, value in (("p50", median), ("p99", p99)):
        here, there = value(ours) * 1000, value(theirs) * 1000
        goal = "" if kind == "p50" else f"  1.0, {'met' if here <= there else 'not met'}"
        yield f"{name + ', ' + kind:<24}{here:>9.2f}{there:>9.2f}{here / there:>7.2f}{goal}"


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, and no page")
    quick = parser.parse_args().quick
    blocks, rounds = (2, 20) if quick else (10, ROUNDS)
    with ExitStack() as stack:
        targets: list[Any] = [
            Doorkeeper({"doorkeeper.test.broker": "true"}),
            Kafka(jars(RELEASE), {"group.initial.rebalance.delay.ms": "0"}),
        ]
        for target in targets:
            stack.callback(target.close)
            target.start()
        load = load_average()
        run = partial(measured, targets=targets, blocks=blocks, rounds=rounds)
        lines = [
            line for name, each in libraries().items() for line in rows(name, *run(library=each))
        ]
    head = f"{'ms':<24}{'ours':>9}{'broker':>9}{'ratio':>7}  goal"
    loads = f"load of the machine: {load:.1f} before, {load_average():.1f} after"
    foot = f"{blocks * rounds} rounds of each; {loads}"
    table = "\n".join([head, *lines, foot])
    print(table)
    if not quick:
        RESULTS.write_text(page(table, time.strftime("%d %B %Y")), encoding="utf-8")


def page(table: str, day: str) -> str:
    """Return the text of RESULTS-poll.md."""
    return f"""# From produce to poll

`python benchmarks/produce_and_poll.py` wrote this page on {day}.
How long it takes from the produce of one record until it is polled, in milliseconds, on the test
broker and on a broker {RELEASE}. [README.md](README.md) says how it is measured.

```
{table}
```
"""


if __name__ == "__main__":
    main()
