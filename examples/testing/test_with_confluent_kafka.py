"""confluent-kafka's admin client, over TLS with a certificate that the server has made.

pip install doorkeeper confluent-kafka pytest
pytest examples/testing/test_with_confluent_kafka.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
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
