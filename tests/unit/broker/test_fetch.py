"""Fetch: permissions, errors, sizes, and waiting for records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.node import DelayedResponse
from doorkeeper_broker import fetch
from doorkeeper_broker.records import Records
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from testkit.acl import allow, topic
from testkit.batches import base_offsets, batch
from testkit.load import scaled
from testkit.nodes import CLUSTER, ANode, a_topic, node_of, outcome

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api

READ = AclOperation.READ


async def a_node(*acls: Any) -> ANode:
    return await node_of(*acls, topics=[a_topic("orders", 2), a_topic("secret")])


def request(*names: str, offset: int = 0, **fields: Any) -> FetchRequest:
    """Return a request for partition 0 of topics."""
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=10_000)
    topics = tuple(FetchTopic(topic=name, partitions=(asked,)) for name in names)
    fields = {"max_wait_ms": 0, "min_bytes": 1, **fields}
    return FetchRequest(topics=topics, **fields)


def rows(response: Any) -> list[tuple[str, int, int, list[int]]]:
    """Return topic, partition, error and base offsets of each row."""
    assert isinstance(response, FetchResponse)
    return [
        (found.topic, row.partition_index, row.error_code, base_offsets(row.records or b""))
        for found in response.responses
        for row in found.partitions
    ]


def an_api(records: Records | None = None) -> Api:
    return fetch.api(records or Records(1_000_000))


async def test_fetch_requires_read() -> None:
    """Without it a row is 29 and has no offsets; refused rows come last."""
    node = await a_node(allow("alice", READ, topic("orders")))
    records = Records(1_000_000)
    orders = node.topics.get("orders")
    assert orders is not None
    records.log_of(orders, 0).append(batch(b"a", b"b"))

    found: Any = outcome(
        an_api(records), request("secret", "orders", "absent"), node, version=11, user="alice"
    )

    assert rows(found) == [("orders", 0, 0, [0]), ("secret", 0, 29, []), ("absent", 0, 29, [])]
    assert found.responses[0].partitions[0].high_watermark == 2
    assert found.responses[1].partitions[0].high_watermark == -1
    assert node.lines() == [
        "INFO Denied READ Topic:LITERAL:secret 1",
        "DEBUG Allowed READ Topic:LITERAL:orders 1",
        "INFO Denied READ Topic:LITERAL:absent 1",
    ]


async def test_missing_partitions_are_reported_to_readers() -> None:
    """3 for a name, 100 for an id, 1 for an offset, and 74 or 75 for another epoch."""
    node = await a_node(allow("alice", READ, topic("*")))

    named = outcome(an_api(), request("absent"), node, version=4, user="alice")
    beyond = outcome(an_api(), request("orders", offset=1), node, version=4, user="alice")
    unknown: Any = outcome(an_api(), request("x"), node, version=13, user="alice")

    assert rows(named) == [("absent", 0, 3, [])]
    assert rows(beyond) == [("orders", 0, 1, [])]
    assert unknown.responses[0].partitions[0].error_code == 100


async def test_replica_fetch_requires_cluster_action() -> None:
    node = await a_node(
        allow("alice", READ, topic("*")), allow("bob", AclOperation.CLUSTER_ACTION, CLUSTER)
    )
    old = request("orders", replica_id=2)
    new = request("orders", replica_state=ReplicaState(replica_id=2))

    for tagged, version in ((old, 12), (new, 15)):
        topics = (tagged.topics[0].replace(topic_id=node.topics.get("orders").topic_id),)  # type: ignore[union-attr]
        asked = tagged.replace(topics=topics)
        denied: Any = outcome(an_api(), asked, node, version=version, user="alice")
        allowed: Any = outcome(an_api(), asked, node, version=version, user="bob")

        assert denied.responses[0].partitions[0].error_code == 29
        assert allowed.responses[0].partitions[0].error_code == 6


def test_replica_state_tag_requires_version_15() -> None:
    """As by Kafka's class, whose ReplicaState came with version 15; from then on it is read."""
    tag = b"\1" + b"\1\x0d" + (2).to_bytes(4) + bytes(8) + b"\0"

    for version in (12, 14):
        data = FetchRequest().encode(version)
        with pytest.raises(Malformed, match="tag 1 is not valid in this version"):
            FetchRequest.decode(data[:-1] + tag, 0, version)
    for version in (15, 18):
        data = FetchRequest().encode(version)
        decoded, _ = FetchRequest.decode(data[:-1] + tag, 0, version)
        assert decoded.replica_state == ReplicaState(2, 0)


async def test_fetch_sessions_are_not_kept() -> None:
    """A client that has one hears 70, and begins anew with id 0."""
    node = await a_node()

    gone: Any = outcome(an_api(), request("orders", session_id=5, session_epoch=1), node, 11)
    full: Any = outcome(an_api(), request("orders", session_id=5, session_epoch=-1), node, 11)

    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (full.error_code, full.session_id) == (0, 0)


async def test_fetch_waits_for_records() -> None:
    node = await a_node()
    records = Records(1_000_000)
    orders = node.topics.get("orders")
    assert orders is not None
    asked = request("orders", max_wait_ms=60_000)
    delayed: Any = outcome(an_api(records), asked, node, version=11, user="admin")
    assert isinstance(delayed, DelayedResponse)
    task = asyncio.ensure_future(delayed.response)
    await asyncio.sleep(0)

    assert not task.done()
    records.log_of(orders, 0).append(batch(b"a"))

    assert rows(await task) == [("orders", 0, 0, [0])]
    assert not records.log_of(orders, 0).waiters
    again = outcome(an_api(records), asked, node, version=11, user="admin")
    assert isinstance(again, FetchResponse)


@pytest.mark.parametrize("event", ["append", "delete the topic"])
async def test_append_before_the_wait_is_noticed(event: str) -> None:
    node = await a_node()
    records = Records(1_000_000)
    orders = node.topics.get("orders")
    assert orders is not None
    asked = request("orders", max_wait_ms=60_000)
    delayed: Any = outcome(an_api(records), asked, node, version=11, user="admin")
    assert isinstance(delayed, DelayedResponse)

    if event == "append":
        records.log_of(orders, 0).append(batch(b"a"))
    else:
        records.log_of(orders, 0)
        records.delete_topic(orders.topic_id)

    answered = rows(await asyncio.wait_for(delayed.response, scaled(30)))
    assert answered == [("orders", 0, 0, [0]) if event == "append" else ("orders", 0, 3, [])]


async def test_fetch_wait_times_out_empty() -> None:
    node = await a_node()
    delayed: Any = outcome(
        an_api(), request("orders", max_wait_ms=1), node, version=11, user="admin"
    )

    assert rows(await delayed.response) == [("orders", 0, 0, [])]


async def test_errors_are_returned_without_waiting() -> None:
    node = await a_node()
    records = Records(1_000_000)
    orders = node.topics.get("orders")
    assert orders is not None
    wrong = request("orders", offset=9, max_wait_ms=60_000)

    assert rows(outcome(an_api(records), wrong, node, version=11, user="admin")) == [
        ("orders", 0, 1, [])
    ]

    delayed: Any = outcome(
        an_api(records), request("orders", max_wait_ms=60_000), node, version=11, user="admin"
    )
    task = asyncio.ensure_future(delayed.response)
    await asyncio.sleep(0)
    records.delete_topic(orders.topic_id)

    assert rows(await task) == [("orders", 0, 3, [])]


async def test_partition_that_is_named_twice_is_read_once() -> None:
    """A broker keeps them in a map: the last one counts, in the place of the first."""
    node = await a_node(allow("alice", READ, topic("orders")))
    records = Records(1_000_000)
    orders = node.topics.get("orders")
    assert orders is not None
    for _ in range(3):
        records.log_of(orders, 0).append(batch(b"a"))
    zero, one, wrong, two = (
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=10_000)
        for index, offset in ((0, 0), (1, 0), (0, 9), (0, 2))
    )
    first = FetchTopic(topic="orders", partitions=(zero, one, wrong))
    secret = FetchTopic(topic="secret", partitions=(zero, zero))
    topics = (first, secret, FetchTopic(topic="orders", partitions=(two,)), secret)
    asked = FetchRequest(max_wait_ms=0, topics=topics)

    found = outcome(an_api(records), asked, node, version=12, user="alice")

    assert rows(found) == [("orders", 0, 0, [2]), ("orders", 1, 0, []), ("secret", 0, 29, [])]
