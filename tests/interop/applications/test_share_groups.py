"""Kafka's console share consumer and its tools, on a broker 4.3.1 and on the test broker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import closing

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from testkit.java_lines import JAVA
from testkit.kafka_jars import jars
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.load import scaled
from testkit.or_skip import or_skip

TOPIC, GROUP = "orders", "workers"
VALUES = ["1", "2", "3"]
LIMIT_S = 120

TARGETS: dict[str, Callable[[], Target]] = {
    "kafka": lambda: kafka_target(
        "4.3.1",
        share_coordinator_state_topic_replication_factor="1",
        share_coordinator_state_topic_min_isr="1",
    ),
    "doorkeeper": lambda: doorkeeper_target(doorkeeper_test_broker="true"),
}


def tool(target: Target, name: str, *words: str) -> list[str]:
    """Return the lines that one of Kafka's tools writes."""
    command = [*JAVA, "-cp", jars("4.3.1").classpath, name, "--bootstrap-server", target.plain]
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        timeout=scaled(LIMIT_S),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def consumed(target: Target, *words: str) -> list[str]:
    """Return the records that a share consumer gets, until it has three."""
    return sorted(
        tool(
            target,
            "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
            *("--topic", TOPIC, "--group", GROUP, "--max-messages", str(len(VALUES))),
            *("--timeout-ms", "60000", *words),
        )
    )


def lag(target: Target) -> str:
    """Return how many records the group has still to read.

    The beginning of what it reads may differ: a broker stores that with a later acknowledgement.
    """
    name = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    lines = tool(target, name, "--describe", "--group", GROUP, "--offsets")
    return next(line.split()[4] for line in lines if line.startswith(GROUP))


@pytest.mark.parametrize("name", TARGETS)
def test_released_record_is_redelivered_to_another_member(name: str) -> None:
    target = or_skip(TARGETS[name])
    try:
        with closing(KafkaAdminClient(bootstrap_servers=target.plain)) as admin:
            admin.create_topics([NewTopic(TOPIC, 1, 1)])
        with closing(KafkaProducer(bootstrap_servers=target.plain)) as producer:
            for value in VALUES:
                producer.send(TOPIC, value.encode()).get(60)
        earliest = ("--add-config", "share.auto.offset.reset=earliest")
        entity = ("--entity-type", "groups", "--entity-name", GROUP)
        tool(target, "kafka.admin.ConfigCommand", "--alter", *entity, *earliest)

        released = consumed(target, "--release")
        accepted = consumed(target)
        left = lag(target)
    finally:
        target.close()

    assert released == accepted == VALUES
    assert left == "0"
