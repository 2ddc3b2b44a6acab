"""aiokafka: which topics a user sees, a login that is refused, a producer and a consumer too.

pip install . aiokafka pytest    # in the folder of a checkout
pytest examples/testing/test_with_aiokafka.py
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)

if TYPE_CHECKING:
    from doorkeeper.testing import DoorkeeperServer

MAY_DESCRIBE = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:alice",
    "operation": "DESCRIBE",
}

pytestmark = pytest.mark.doorkeeper(
    users={"alice": "alice-secret"},
    topics={"orders": 3, "salaries": 1},
    acls=[MAY_DESCRIBE],
)


async def topics_seen(server: DoorkeeperServer, user: str) -> list[str]:
    """Return the topics that a user is told of."""
    admin = AIOKafkaAdminClient(**server.client_config(user).aiokafka())
    try:
        await admin.start()
        return sorted(await admin.list_topics())
    finally:
        await admin.close()


def test_topics_are_seen_by_those_who_may(doorkeeper_server: DoorkeeperServer) -> None:
    """Alice sees the topic that she may describe, the administrator sees both."""
    assert asyncio.run(topics_seen(doorkeeper_server, "alice")) == ["orders"]
    assert asyncio.run(topics_seen(doorkeeper_server, "admin")) == ["orders", "salaries"]


def test_a_login_that_is_refused(doorkeeper_server: DoorkeeperServer) -> None:
    """The code under test meets a wrong password without having one."""
    with doorkeeper_server.faults.refuse_login("alice"), pytest.raises(KafkaError):
        asyncio.run(topics_seen(doorkeeper_server, "alice"))


async def write(server: DoorkeeperServer, user: str) -> None:
    """Write an order: the code that is tested here."""
    producer = AIOKafkaProducer(**server.client_config(user).aiokafka())
    await producer.start()
    try:
        await producer.send_and_wait("orders", b"an order")
    finally:
        await producer.stop()


async def read(server: DoorkeeperServer, user: str) -> bytes:
    """Read an order, as a member of a group."""
    consumer = AIOKafkaConsumer(
        "orders",
        **server.client_config(user).aiokafka(),
        group_id="readers",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        message = await consumer.getone()
    finally:
        await consumer.stop()
    value: bytes = message.value
    return value


@pytest.mark.doorkeeper(records=True)
def test_a_producer_without_write(doorkeeper_server: DoorkeeperServer) -> None:
    """Alice may see the topic; her record is refused."""
    with (
        doorkeeper_server.expect_denied("User:alice", "WRITE", topic="orders"),
        pytest.raises(TopicAuthorizationFailedError),
    ):
        asyncio.run(write(doorkeeper_server, "alice"))


@pytest.mark.doorkeeper(records=True)
def test_a_consumer_without_its_group(doorkeeper_server: DoorkeeperServer) -> None:
    """READ on the topic is not enough; with READ on the group too she gets the order."""
    may_read = {**MAY_DESCRIBE, "operation": "READ"}
    doorkeeper_server.add_acls([may_read])
    asyncio.run(write(doorkeeper_server, "admin"))

    with (
        doorkeeper_server.expect_denied("User:alice", group="readers"),
        pytest.raises(GroupAuthorizationFailedError),
    ):
        asyncio.run(read(doorkeeper_server, "alice"))

    doorkeeper_server.add_acls([{**may_read, "resourceType": "GROUP", "name": "readers"}])
    assert asyncio.run(read(doorkeeper_server, "alice")) == b"an order"
