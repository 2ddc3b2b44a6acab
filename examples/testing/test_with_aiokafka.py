"""aiokafka's admin client: which topics somebody sees, and a login that is refused.

pip install doorkeeper aiokafka pytest
pytest examples/testing/test_with_aiokafka.py
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

if TYPE_CHECKING:
    from doorkeeper.testing import DoorkeeperServer

pytestmark = pytest.mark.doorkeeper(
    users={"alice": "alice-secret"},
    topics={"orders": 3, "salaries": 1},
    acls=[
        {
            "resourceType": "TOPIC",
            "name": "orders",
            "principal": "User:alice",
            "operation": "DESCRIBE",
        }
    ],
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
