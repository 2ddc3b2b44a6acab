"""Client libraries write and read records on the test broker as on a broker 4.3.1.

sarama and kafkajs alone, members of one group in several languages, and a producer that dies.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from contextlib import ExitStack, closing
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from testkit.applications import (
    APPLICATION,
    GROUP,
    TOPIC,
    confluent_kafka,
    kafkajs,
    run,
    sarama,
    set_acls,
)
from testkit.kafka_target import USERS, Target, doorkeeper_target, kafka_target
from testkit.load import scaled
from testkit.members import LIMIT_S, Members
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.applications import Outcome

pytestmark = [pytest.mark.interop, pytest.mark.slow]

PARTITIONS = 8
RECORDS = 200
"""They are written at each change of the members."""

EXPIRY_MS = "1000"
TARGETS: dict[str, Callable[[], Target]] = {
    "kafka": lambda: kafka_target(
        "4.3.1", transaction_abort_timed_out_transaction_cleanup_interval_ms=EXPIRY_MS
    ),
    "doorkeeper": lambda: doorkeeper_target(doorkeeper_test_broker="true"),
}


def start(name: str) -> Target:
    return or_skip(TARGETS[name])


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Give a broker, and a Doorkeeper with the test broker."""
    running = start(request.param)
    yield running
    running.close()


@pytest.fixture(scope="module")
def both() -> Iterator[Sequence[Target]]:
    """Give a broker and a Doorkeeper with the test broker at the same time."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(start(name))) for name in TARGETS]


def command_of(of: Callable[[str], Callable[..., Sequence[str]]], name: str) -> Sequence[str]:
    return or_skip(lambda: of(name)("", None))


@pytest.mark.parametrize(
    "name", [each for each in APPLICATION if each.startswith(("kafkajs", "sarama"))]
)
def test_clients_behave_alike_with_and_without_acls(
    name: str, both: Sequence[Target], tmp_path: Path
) -> None:
    application = APPLICATION[name]

    def outcome(target: Target, bindings: Sequence[AclBinding]) -> Outcome:
        asyncio.run(set_acls(target.plain, bindings))
        return run(application, target.sasl, target.plain, tmp_path)

    for left_out in (None, *application.needs):
        granted = [each for each in application.needs if each != left_out]
        on_kafka, here = (outcome(target, granted) for target in both)

        assert on_kafka.done is (left_out is None), on_kafka.text
        assert here == on_kafka


class Writer:
    """Writes records with numbers, to the partitions in turn."""

    def __init__(self, target: Target) -> None:
        self._producer = KafkaProducer(bootstrap_servers=target.plain)
        self._numbers = count()
        self.written: set[str] = set()

    def write(self) -> None:
        """Write some records, and wait until all are acknowledged."""
        for number in islice(self._numbers, RECORDS):
            self._producer.send(TOPIC, str(number).encode(), partition=number % PARTITIONS)
            self.written.add(str(number))
        self._producer.flush()

    def close(self) -> None:
        self._producer.close()


def committed(target: Target) -> dict[int, int]:
    with closing(KafkaAdminClient(bootstrap_servers=target.plain)) as admin:
        found = admin.list_group_offsets({GROUP: None})[GROUP]
    return {part.partition: position.offset for part, position in found.items()}


def ends(target: Target) -> dict[int, int]:
    parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with closing(KafkaConsumer(bootstrap_servers=target.plain)) as consumer:
        return {part.partition: offset for part, offset in consumer.end_offsets(parts).items()}


@pytest.mark.parametrize(
    "other", [pytest.param(sarama, id="sarama"), pytest.param(kafkajs, id="kafkajs")]
)
def test_four_members_in_two_languages(
    target: Target, other: Callable[[str], Callable[..., Sequence[str]]]
) -> None:
    """Members join, leave and are killed; each record is read and committed."""
    python, foreign = command_of(confluent_kafka, "member"), command_of(other, "member")
    with closing(KafkaAdminClient(bootstrap_servers=target.plain)) as admin:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    group = Members(target.sasl, "admin", USERS["admin"])
    with closing(group), closing(Writer(target)) as writer:
        a, b = group.start(python), group.start(foreign)
        writer.write()
        group.wait_until_shared([a, b], PARTITIONS)
        c, d = group.start(python), group.start(foreign)
        writer.write()
        group.wait_until_shared([a, b, c, d], PARTITIONS)

        for killed, left in ((a, [b, c, d]), (b, [c, d])):
            writer.write()
            killed.kill()
            writer.write()
            group.wait_until_shared(left, PARTITIONS)
        e, f = group.start(python), group.start(foreign)
        writer.write()
        group.wait_until_shared([c, d, e, f], PARTITIONS)
        for leaver, left in ((d, [c, e, f]), (c, [e, f])):
            writer.write()
            leaver.leave()
            writer.write()
            group.wait_until_shared(left, PARTITIONS)

        group.wait_until_read(writer.written)
        # A commit in the last rebalance may have failed: its record is read again.
        until = time.monotonic() + LIMIT_S
        while committed(target) != ends(target):
            assert time.monotonic() < until, (committed(target), ends(target))
        e.leave()
        f.leave()

    assert group.read == writer.written


def test_transaction_of_inactive_producer_is_aborted(target: Target) -> None:
    words = command_of(confluent_kafka, "open_transaction")
    with closing(KafkaAdminClient(bootstrap_servers=target.plain)) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
    group = Members(target.sasl, "admin", USERS["admin"])
    with subprocess.Popen(words, env=group.environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'{"written": "never committed"}\n'
        process.kill()
    with closing(KafkaProducer(bootstrap_servers=target.plain)) as producer:
        producer.send(TOPIC, b"after it").get(30)

    assert read(target, 1, "read_committed") == [b"after it"]
    assert read(target, 2, "read_uncommitted") == [b"never committed", b"after it"]
    again = command_of(confluent_kafka, "transactional_producer")
    subprocess.run(again, env=group.environment, check=True, timeout=scaled(60))
    assert read(target, 2, "read_committed") == [b"after it", b"an order"]


def read(target: Target, number: int, isolation: str) -> list[bytes]:
    """Return the first values of the topic."""
    settings = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 60_000}
    with closing(
        KafkaConsumer(TOPIC, bootstrap_servers=target.plain, isolation_level=isolation, **settings)
    ) as consumer:
        # In this order: the numbers end first, and no further message is waited for.
        return [message.value for _, message in zip(range(number), consumer, strict=False)]
