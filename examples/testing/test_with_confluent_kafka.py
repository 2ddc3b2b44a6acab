"""confluent-kafka: a producer that is refused, a consumer's ACLs, and its admin client over TLS.

pip install . confluent-kafka pytest    # in the folder of a checkout
pytest examples/testing/test_with_confluent_kafka.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

if TYPE_CHECKING:
    from doorkeeper.testing import DoorkeeperServer

TEAM = AclBinding(
    ResourceType.TOPIC,
    "team-a.",
    ResourcePatternType.PREFIXED,
    "User:alice",
    "*",
    AclOperation.ALL,
    AclPermissionType.ALLOW,
)
WAIT_S = 20
MAY_READ = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:svc",
    "operation": "READ",
}
MAY_READ_GROUP = {**MAY_READ, "resourceType": "GROUP", "name": "readers"}


@pytest.mark.doorkeeper(
    users={"svc": "svc-secret"}, topics=["orders"], acls=[MAY_READ], records=True
)
def test_a_producer_without_write(doorkeeper_server: DoorkeeperServer) -> None:
    """The delivery report has the refusal."""
    producer = Producer(doorkeeper_server.client_config("svc").confluent_kafka())
    reports: list[KafkaError | None] = []

    with doorkeeper_server.expect_denied("User:svc", "WRITE", topic="orders"):
        producer.produce("orders", b"an order", on_delivery=lambda error, _: reports.append(error))
        producer.flush(WAIT_S)

    (error,) = reports
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.doorkeeper(users={"svc": "svc-secret"}, topics=["orders"], records=True, learn=True)
def test_a_consumer_reads_its_topic_and_its_group(doorkeeper_server: DoorkeeperServer) -> None:
    """With ``learn`` all is allowed, and the least ACLs are known afterwards."""
    producer = Producer(doorkeeper_server.client_config("admin").confluent_kafka())
    producer.produce("orders", b"an order")
    producer.flush(WAIT_S)
    config = {"group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(doorkeeper_server.client_config("svc").confluent_kafka() | config)
    consumer.subscribe(["orders"])

    message = consumer.poll(WAIT_S)
    consumer.close()

    assert message is not None
    assert message.value() == b"an order"
    doorkeeper_server.assert_least_acls("User:svc", [MAY_READ, MAY_READ_GROUP])


@pytest.mark.doorkeeper(users={"alice": "alice-secret"}, listeners=["SASL_SSL"])
def test_a_team_owns_its_prefix(doorkeeper_server: DoorkeeperServer) -> None:
    """A prefixed grant covers the team's topics and no other."""
    admin = AdminClient(doorkeeper_server.client_config().confluent_kafka())
    for granted in admin.create_acls([TEAM]).values():
        granted.result(WAIT_S)

    assert doorkeeper_server.allows("User:alice", "WRITE", topic="team-a.orders")
    assert doorkeeper_server.denies("User:alice", "WRITE", topic="team-b.orders")


@pytest.mark.doorkeeper(listeners=["MTLS"])
def test_a_slow_server_is_waited_for(doorkeeper_server: DoorkeeperServer) -> None:
    """A client that shows a certificate waits for an answer that takes its time."""
    admin = AdminClient(doorkeeper_server.client_config("admin").confluent_kafka())
    with doorkeeper_server.faults.delay("CreateAcls", ms=300) as delay:
        began_s = time.monotonic()
        for granted in admin.create_acls([TEAM]).values():
            granted.result(WAIT_S)

    assert delay.struck == 1
    assert time.monotonic() - began_s >= 0.3
