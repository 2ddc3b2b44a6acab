"""Is the test broker as fast as a broker for tests that write and read records?

    python benchmarks/records.py [--quick]

100,000 records of 100 bytes are written and then read, and a test's whole cycle: create a topic,
write 1,000 records, read them in a group, delete the topic, with clients of its own. Both with
kafka-python and with librdkafka (confluent-kafka), each with its default settings, on Doorkeeper
with doorkeeper.test.broker=true and on a broker of one node in turn. The broker is warmed up, and
does not wait for further members of a group (group.initial.rebalance.delay.ms=0).
Goals: records at most in the broker's time; a cycle in a fifth of it. "computes" is the processor
time of a server, and of the client, in a cycle; the rest of it is waiting.
Without Java only ours is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
import uuid
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Protocol

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from testkit.clients import CLIENTS
from testkit.kafka_jars import Unavailable, jars
from versus.targets import Doorkeeper, Kafka, Target, load_average

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

RELEASE = "4.3.1"
VALUE = bytes(100)
CYCLE_RECORDS = 1_000
WAIT_S = 60
GOALS = {"write": 1.0, "read": 1.0, "cycle": 0.2}
STEPS = ("cycle", "create", "write_1000", "read_1000", "delete")
COMPUTED = ("server_computes", "client_computes")


class Library(Protocol):
    """What a client library does with one server."""

    def __init__(self, address: str) -> None: ...
    def create(self, topic: str) -> None: ...
    def delete(self, topic: str) -> None: ...
    def write(self, topic: str, count: int) -> None: ...
    def read(self, topic: str, count: int, group: str | None) -> None: ...
    def close(self) -> None: ...


class KafkaPython:
    """kafka-python."""

    def __init__(self, address: str) -> None:
        """Connect the client that creates topics."""
        self._settings: dict[str, Any] = {"bootstrap_servers": address}
        self._admin = KafkaAdminClient(**self._settings)

    def create(self, topic: str) -> None:
        """Create a topic of one partition."""
        self._admin.create_topics([NewTopic(topic, 1, 1)])

    def delete(self, topic: str) -> None:
        """Delete it."""
        self._admin.delete_topics([topic])

    def write(self, topic: str, count: int) -> None:
        """Write records, until all are acknowledged."""
        with closing(KafkaProducer(**self._settings)) as producer:
            for _ in range(count):
                producer.send(topic, VALUE)
            producer.flush()

    def read(self, topic: str, count: int, group: str | None) -> None:
        """Read from the beginning, as a member of a group or alone."""
        consumer = KafkaConsumer(group_id=group, auto_offset_reset="earliest", **self._settings)
        with closing(consumer):
            if group is None:
                consumer.assign([TopicPartition(topic, 0)])
            else:
                consumer.subscribe([topic])
            found, until_s = 0, time.monotonic() + WAIT_S
            while found < count:
                _check(until_s)
                found += sum(map(len, consumer.poll(timeout_ms=1000).values()))

    def close(self) -> None:
        """Disconnect."""
        self._admin.close()


class Librdkafka:
    """confluent-kafka, which is librdkafka."""

    def __init__(self, address: str) -> None:
        """Connect the client that creates topics."""
        self._module = import_module("confluent_kafka")
        self._admin_module = import_module("confluent_kafka.admin")
        self._settings: dict[str, Any] = {"bootstrap.servers": address, "log_level": 0}
        self._admin = self._admin_module.AdminClient(self._settings)

    def create(self, topic: str) -> None:
        """Create a topic of one partition."""
        wanted = self._admin_module.NewTopic(topic, 1, 1)
        self._admin.create_topics([wanted])[topic].result()

    def delete(self, topic: str) -> None:
        """Delete it."""
        self._admin.delete_topics([topic])[topic].result()

    def write(self, topic: str, count: int) -> None:
        """Write records, until all are acknowledged."""
        producer = self._module.Producer(self._settings)
        for _ in range(count):
            while True:
                try:
                    producer.produce(topic, VALUE)
                except BufferError:
                    producer.poll(0.01)
                else:
                    break
        left = producer.flush(WAIT_S)
        if left:
            raise RuntimeError(f"{left} records were not acknowledged in {WAIT_S} s")

    def read(self, topic: str, count: int, group: str | None) -> None:
        """Read from the beginning, as a member of a group or alone."""
        settings = {"group.id": group or "none", "auto.offset.reset": "earliest"}
        with closing(self._module.Consumer({**self._settings, **settings})) as consumer:
            if group is None:
                consumer.assign([self._module.TopicPartition(topic, 0, 0)])
            else:
                consumer.subscribe([topic])
            found, until_s = 0, time.monotonic() + WAIT_S
            while found < count:
                _check(until_s)
                messages = consumer.consume(min(count - found, 10_000), 1.0)
                for message in messages:
                    if message.error() is not None:
                        raise self._module.KafkaException(message.error())
                found += len(messages)

    def close(self) -> None:
        """Leave it to the collector: this client has no other end."""


def _check(until_s: float) -> None:
    if time.monotonic() > until_s:
        raise RuntimeError(f"the records could not be read in {WAIT_S} s")


def libraries() -> Mapping[str, type[Library]]:
    """Return the libraries that there are."""
    found: dict[str, type[Library]] = {"kafka-python": KafkaPython}
    try:
        (client,) = (each for each in CLIENTS if each.name == "confluent-kafka")
        sys.path.append(str(client.site_packages()))
    except Unavailable as missing:
        print(f"without librdkafka: {missing}")
    else:
        found["librdkafka"] = Librdkafka
    return found


def seconds_of(work: Callable[[], None]) -> float:
    """Return how long it takes, in seconds."""
    begin_s = time.perf_counter()
    work()
    return time.perf_counter() - begin_s


class Run:
    """Seconds by kind, library and server."""

    def __init__(self, targets: list[Target], *, records: int) -> None:
        """Take servers that run."""
        self.targets = targets
        self.records = records
        self.seconds: dict[tuple[str, str, str], list[float]] = {}

    def bulk(self, name: str, library: type[Library], *, counts: bool) -> None:
        """Write and read many records on each server."""
        for target in self.targets:
            topic = f"records-{uuid.uuid4().hex}"
            with closing(library(f"127.0.0.1:{target.plain_port}")) as client:
                client.create(topic)
                write_s = seconds_of(partial(client.write, topic, self.records))
                read_s = seconds_of(partial(client.read, topic, self.records, None))
                client.delete(topic)
            if counts:
                self._add(name, target, write=write_s, read=read_s)

    def cycle(self, name: str, library: type[Library], *, counts: bool) -> None:
        """Do what a test does on each server."""
        for target in self.targets:
            topic = f"cycle-{uuid.uuid4().hex}"
            before_s, own_before_s = target.processor_s(), time.process_time()
            times = [time.perf_counter()]
            with closing(library(f"127.0.0.1:{target.plain_port}")) as client:
                for work in (
                    partial(client.create, topic),
                    partial(client.write, topic, CYCLE_RECORDS),
                    partial(client.read, topic, CYCLE_RECORDS, topic),
                    partial(client.delete, topic),
                ):
                    work()
                    times.append(time.perf_counter())
            took = [
                time.perf_counter() - times[0],
                *(end - begin for begin, end in pairwise(times)),
            ]
            computed = [target.processor_s() - before_s, time.process_time() - own_before_s]
            if counts:
                self._add(
                    name, target, **dict(zip((*STEPS, *COMPUTED), took + computed, strict=True))
                )

    def _add(self, name: str, target: Target, **seconds: float) -> None:
        for kind, each in seconds.items():
            self.seconds.setdefault((kind, name, target.name), []).append(each)

    def _ms(self, kind: str, name: str, server: str) -> float | None:
        found = self.seconds.get((kind, name, server))
        # The system counts processor time in hundredths of a second: a median would be one of them.
        middle = fmean if kind in COMPUTED else median
        return middle(found) * 1000 if found else None

    def rows(self, kind: str, libraries: Iterable[str]) -> None:
        """Print what both took, in ms; without a goal for parts of a cycle."""
        for name in libraries:
            ours, theirs = (self._ms(kind, name, each.name) for each in (Doorkeeper, Kafka))
            text = f"  {name + ', ' + kind.replace('_', ' '):<32}{ours:>8,.0f}"
            if ours is not None and theirs is not None:
                text += f"{theirs:>9,.0f}{ours / theirs:>7.2f}"
                if kind in GOALS:
                    goal = GOALS[kind]
                    text += f"  {goal}, {'met' if ours / theirs <= goal else 'not met'}"
            print(text)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few records and rounds")
    quick = parser.parse_args().quick
    records, rounds, cycles = (10_000, 1, 3) if quick else (100_000, 7, 15)
    with ExitStack() as stack:
        targets: list[Target] = [Doorkeeper({"doorkeeper.test.broker": "true"})]
        try:
            targets.append(Kafka(jars(RELEASE)))
        except Unavailable as missing:
            print(f"without a broker: {missing}")
        for target in targets:
            stack.callback(target.close)
            target.start()
        run, load = Run(targets, records=records), load_average()
        found = libraries()
        for number in range(-2, rounds):  # The first two warm up.
            for name, library in found.items():
                run.bulk(name, library, counts=number >= 0)
        for number in range(-2, cycles):
            for name, library in found.items():
                run.cycle(name, library, counts=number >= 0)
    print(f"load of the machine: {load:.1f} before, {load_average():.1f} after")
    print(f"{'ms, median':<34}{'ours':>8}{'broker':>9}{'ratio':>7}  goal")
    print(f"{records:,} records of {len(VALUE)} bytes, {rounds} rounds")
    for kind in ("write", "read"):
        run.rows(kind, found)
    print(f"a topic, {CYCLE_RECORDS:,} records, a group; {cycles} rounds")
    for kind in (*STEPS, *COMPUTED):
        run.rows(kind, found)


if __name__ == "__main__":
    main()
