"""OffsetFetch: groups, named and all topics, refusals, members."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.api import offset_fetch
from doorkeeper.server.api.offset_fetch import API
from doorkeeper.server.resources.groups import Offsets
from doorkeeper.server.schema.declared import StoredOffset
from doorkeeper_wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from testkit.acl import DESCRIBE, allow, group, topic
from testkit.nodes import ANode, a_group, a_topic, answer, node_of

A, B = a_topic("a", 2), a_topic("b")
IDS = {"a": A.topic_id, "b": B.topic_id, "x": b"?" * 16}


async def world(*bindings: Any, **fields: Any) -> ANode:
    """Return a node with two offsets, one of them of an earlier topic."""
    node = await node_of(*bindings, topics=[A, B], **fields)
    rows = [
        StoredOffset("g", "a-1", A.topic_id, 5, 2, "text"),
        StoredOffset("g", "a-0", A.topic_id, 7, -1, ""),
        StoredOffset("g", "b-0", b"earlier".ljust(16), 6, -1, ""),
        StoredOffset("g", "x-0", b"gone".ljust(16), 6, -1, ""),
        StoredOffset("g", "", b"", 0, -1, ""),
    ]
    node.state = replace(node.state, offsets=Offsets().with_changes(rows, ()))
    return node


def asking(version: int, *topics: tuple[str, tuple[int, ...]], **fields: Any) -> OffsetFetchRequest:
    """Return a request about the group g; of all topics where none is named."""
    if version < 8:
        named = tuple(OffsetFetchRequestTopic(name=n, partition_indexes=i) for n, i in topics)
        return OffsetFetchRequest(group_id="g", topics=named or None)
    rows = tuple(
        OffsetFetchRequestTopics(name=n, topic_id=IDS[n], partition_indexes=i) for n, i in topics
    )
    group_id = fields.pop("group_id", "g")
    asked = OffsetFetchRequestGroup(group_id=group_id, topics=rows or None, **fields)
    return OffsetFetchRequest(groups=(asked,))


Row = tuple[Any, int, int, int, str | None, int]


def rows_of(response: Any, version: int) -> tuple[int, list[Row]]:
    """Return the code of the group, and its rows: topic, partition, offset, epoch, text, code."""
    found = response.groups[0] if version >= 8 else response
    return found.error_code, [
        (
            next(name for name, key in IDS.items() if key == each.topic_id)
            if version >= 10
            else each.name,
            row.partition_index,
            row.committed_offset,
            row.committed_leader_epoch,
            row.metadata,
            row.error_code,
        )
        for each in found.topics
        for row in each.partitions
    ]


@pytest.mark.parametrize("version", [1, 5, 8, 10])
async def test_named_partitions(version: int) -> None:
    """-1 for one without an offset, and for an offset of an earlier topic of that name."""
    node = await world()
    asked = asking(version, ("a", (1, 9)), ("b", (0,)))

    code, rows = rows_of(answer(API, asked, node, version), version)

    epoch = 2 if version >= 5 else -1
    assert code == 0
    assert rows == [("a", 1, 5, epoch, "text", 0), ("a", 9, -1, -1, "", 0), ("b", 0, -1, -1, "", 0)]


@pytest.mark.parametrize("version", [2, 8, 10])
async def test_all_topics(version: int) -> None:
    """Those that the caller may describe, and only what is of them as they are now."""
    node = await world(allow("alice", DESCRIBE, group("g")), allow("alice", DESCRIBE, topic("a")))

    found = rows_of(answer(API, asking(version), node, version, user="alice"), version)

    epoch = 2 if version >= 5 else -1
    assert found == (0, [("a", 0, 7, -1, "", 0), ("a", 1, 5, epoch, "text", 0)])


@pytest.mark.parametrize("version", [1, 2, 8])
async def test_group_permission_is_checked_first(version: int) -> None:
    """30 for the group; in version 1 in every row."""
    node = await world(allow("alice", DESCRIBE, topic("a")))

    found = rows_of(answer(API, asking(version, ("a", (1,))), node, version, "alice"), version)

    refused = (0, [("a", 1, -1, -1, "", 30)])
    assert found == (refused if version == 1 else (30, []))
    assert node.lines() == ["INFO Denied DESCRIBE Group:LITERAL:g 1"]


@pytest.mark.parametrize("version", [9, 10])
async def test_denied_topics_come_last(version: int) -> None:
    """29 without DESCRIBE, 100 for an unknown id; an unknown name may be described or not."""
    node = await world(allow("alice", DESCRIBE, group("g")), allow("alice", DESCRIBE, topic("a")))
    asked = asking(version, ("b", (0,)), ("x", (0,)), ("a", (1,)))

    _, rows = rows_of(answer(API, asked, node, version, user="alice"), version)

    assert [(row[0], row[5]) for row in rows] == [
        ("a", 0),
        ("b", 29),
        ("x", 100 if version > 9 else 29),
    ]


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [(None, -1, 0), ("m-1", 1, 0), ("m-1", 3, 113), ("m", 3, 25), (None, 3, 25)],
)
@pytest.mark.parametrize("topics", [(), (("a", (1,)),)])
async def test_members_fetch_offsets(
    member_id: str | None, epoch: int, code: int, topics: Any
) -> None:
    for group_type in ("consumer", "classic"):
        node = await world(groups=[a_group("g", group_type=group_type)])
        asked = asking(9, *topics, member_id=member_id, member_epoch=epoch)

        found, rows = rows_of(answer(API, asked, node, 9), 9)

        assert found == (code if group_type == "consumer" else 0)
        assert bool(rows) is (found == 0)


@pytest.mark.parametrize("version", [1, 2, 8])
async def test_other_nodes_are_not_the_coordinator(version: int) -> None:
    """16, behind the rights; version 1 has it in the rows that could be answered."""
    node = await world(allow("alice", DESCRIBE, group("g")), allow("alice", DESCRIBE, topic("a")))
    node.coordinator_id = 2
    asked = asking(version, ("b", (0,)), ("a", (1,)))

    found = rows_of(answer(API, asked, node, version, user="alice"), version)

    in_rows = (0, [("a", 1, -1, -1, "", 16), ("b", 0, -1, -1, "", 29)])
    assert found == (in_rows if version == 1 else (16, []))


async def test_pending_transactional_offset_is_unstable() -> None:
    """88 for those that ask for stable offsets; others get the committed one."""
    node = await node_of(topics=[a_topic("orders")])

    def ask(*, require_stable: bool) -> Any:
        topic = OffsetFetchRequestTopic(name="orders", partition_indexes=(0,))
        request = OffsetFetchRequest(group_id="g", topics=(topic,), require_stable=require_stable)
        handle = partial(offset_fetch.handle, find_pending=lambda: {("g", "orders-0")})
        return answer(replace(API, handle=handle), request, node, 7)

    codes = [
        ask(require_stable=stable).topics[0].partitions[0].error_code for stable in (True, False)
    ]
    assert codes == [88, 0]
