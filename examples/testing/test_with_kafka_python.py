"""kafka-python's admin client, on a server of each test's own.

pip install . kafka-python pytest    # in the folder of a checkout
pytest examples/testing/test_with_kafka_python.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import ClusterAuthorizationFailedError

if TYPE_CHECKING:
    from doorkeeper.testing import DoorkeeperServer

EVERY_ACL = ACLFilter(
    None,
    "*",
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


def let_read(admin: KafkaAdminClient, principal: str, topic: str) -> None:
    """Let somebody read a topic: the code that is tested here."""
    pattern = ResourcePattern(ResourceType.TOPIC, topic)
    admin.create_acls([ACL(principal, "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)])


def test_a_reader_reads_and_does_not_write(doorkeeper_server: DoorkeeperServer) -> None:
    """What the code under test grants is what the server decides by."""
    admin = KafkaAdminClient(**doorkeeper_server.client_config().kafka_python())
    let_read(admin, "User:alice", "orders")
    admin.close()

    assert doorkeeper_server.allows("User:alice", "READ", topic="orders")
    assert doorkeeper_server.denies("User:alice", "WRITE", topic="orders")
    assert doorkeeper_server.denies("User:bob", "READ", topic="orders")


@pytest.mark.doorkeeper(users={"alice": "alice-secret"})
def test_who_is_no_administrator_grants_nothing(doorkeeper_server: DoorkeeperServer) -> None:
    """Alice logs in by SCRAM, and may not change ACLs."""
    config = doorkeeper_server.client_config("alice", mechanism="SCRAM-SHA-512")
    admin = KafkaAdminClient(**config.kafka_python())
    let_read(admin, "User:alice", "orders")
    admin.close()

    assert doorkeeper_server.acls() == []


def test_the_code_sees_errors_of_the_server(doorkeeper_server: DoorkeeperServer) -> None:
    """An error on demand reaches the code as any error of a broker."""
    admin = KafkaAdminClient(**doorkeeper_server.client_config().kafka_python())
    with (
        doorkeeper_server.faults.error("DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED"),
        pytest.raises(ClusterAuthorizationFailedError),
    ):
        admin.describe_acls(EVERY_ACL)
    admin.close()
