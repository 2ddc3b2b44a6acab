"""docs/how-to/troubleshoot.md: what clients print is on the page, as they print it."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from doorkeeper.testing import DoorkeeperServer
from testkit.clients import CLIENTS, DRIVERS
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.page_commands import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from testkit.kafka_tools import KafkaTools

pytestmark = pytest.mark.interop
MAY_DESCRIBE = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:bob",
    "operation": "DESCRIBE",
}
MAY_READ_GROUP = {
    "resourceType": "GROUP",
    "name": "billing",
    "principal": "User:bob",
    "operation": "READ",
}


@pytest.fixture(scope="module")
def known() -> list[re.Pattern[str]]:
    """The texts of the page as patterns: a gap is anything."""
    texts = re.findall(r"(?m)^\| `([^`]+)` \|", page("troubleshoot.md"))
    return [re.compile(".*".join(map(re.escape, text.split("...")))) for text in texts]


@pytest.fixture
def server() -> Iterator[DoorkeeperServer]:
    """A server on which bob may describe one topic and read in one group."""
    with DoorkeeperServer(
        users={"bob": "bob-secret"},
        mechanisms=["PLAIN", "SCRAM-SHA-512"],
        topics=["orders", "other"],
        acls=[MAY_DESCRIBE, MAY_READ_GROUP],
        records=True,
    ) as server:
        yield server


@pytest.mark.parametrize(
    ("tool", "line", "change"),
    [
        ("kafka-acls", "--list", ("", "")),
        ("kafka-acls", "--remove --force --topic orders", ("", "")),
        ("kafka-acls", "--list", ("bob-secret", "wrong")),
        ("kafka-acls", "--list", ("SCRAM-SHA-512", "SCRAM-SHA-256")),
        ("kafka-topics", "--create --topic new", ("", "")),
    ],
)
def test_tools(
    server: DoorkeeperServer,
    kafka_tools: Callable[[str], KafkaTools],
    tmp_path: Path,
    known: list[re.Pattern[str]],
    tool: str,
    line: str,
    change: tuple[str, str],
) -> None:
    file = tmp_path / "client.properties"
    server.client_config("bob", mechanism="SCRAM-SHA-512").write_java(file)
    file.write_text(file.read_text().replace(*change))
    words = ("--bootstrap-server", server.bootstrap_servers, "--command-config", str(file))

    done = kafka_tools("4.3.1").run(tool, *words, *line.split())

    assert done.status == 1
    (error,) = set(re.findall(r"(?m)\b(\w+Exception: (?!org\.).*)$", done.text))
    assert [each.pattern for each in known if each.search(error)], error


def test_librdkafka(server: DoorkeeperServer, known: list[re.Pattern[str]]) -> None:
    """What a producer and a consumer that are refused are told, and a client without a login."""
    client = next(each for each in CLIENTS if each.name == "confluent-kafka")
    command = or_skip(lambda: client.command(DRIVERS / "confluent_kafka_refusals.py"))

    done = subprocess.run(
        command,
        input=json.dumps(server.client_config("bob").confluent_kafka()),
        capture_output=True,
        text=True,
        timeout=scaled(200),
        check=False,
    )

    told = done.stdout.splitlines()
    assert len(told) == 7, done.stdout + done.stderr
    assert [line for line in told if not any(each.search(line) for each in known)] == []


def test_kafka_python(server: DoorkeeperServer, known: list[re.Pattern[str]]) -> None:
    """What its producer and consumers raise."""
    config = server.client_config("bob").kafka_python()

    def produce() -> None:
        producer = KafkaProducer(**config, enable_idempotence=False)
        try:
            producer.send("orders", b"x").get(20)
        finally:
            producer.close()

    def consume() -> None:
        consumer = KafkaConsumer("orders", **config, group_id="none")
        try:
            consumer.poll(20_000)
        finally:
            consumer.close()

    for work in (produce, consume):
        with pytest.raises(KafkaError) as refused:
            work()
        assert any(each.search(str(refused.value)) for each in known), refused.value
