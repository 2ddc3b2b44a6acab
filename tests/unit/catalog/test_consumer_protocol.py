"""The bytes of a consumer group's members, read by a client of others."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from doorkeeper.catalog.consumer_protocol import assignment_bytes, subscription_bytes

pytestmark = pytest.mark.filterwarnings("ignore:open_text is deprecated:DeprecationWarning")


@pytest.fixture
def client() -> Any:
    """Return kafka-python's own reader; to import it warns, which only this file allows."""
    return importlib.import_module("kafka.protocol.old.consumer_protocol")


def test_a_client_reads_a_subscription(client: Any) -> None:
    """Version 0, the topics in order, no user data."""
    read = client.ConsumerProtocolMemberMetadata_v0.decode(subscription_bytes(["b", "a"]))

    assert (read.version, read.topics, read.user_data) == (0, ["b", "a"], None)


def test_a_client_reads_an_assignment(client: Any) -> None:
    """Version 0, partitions by topic, no user data."""
    data = assignment_bytes({"b": [2, 0], "a": []})

    read = client.ConsumerProtocolMemberAssignment_v0.decode(data)

    assert (read.version, read.user_data) == (0, None)
    assert [tuple(each) for each in read.assignment] == [("b", [2, 0]), ("a", [])]
