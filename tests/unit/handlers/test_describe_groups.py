"""DescribeGroups: states, members, masks, refusals."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.describe_groups import API
from doorkeeper_wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from testkit.acl import DESCRIBE, READ, allow, group
from testkit.nodes import a_group, answer, node_of

UNASKED = -(2**31)


def asking(*groups: str, masks: bool = False) -> DescribeGroupsRequest:
    """Return a request for groups."""
    return DescribeGroupsRequest(groups=groups, include_authorized_operations=masks)


@pytest.mark.parametrize("version", [0, 6])
async def test_a_stable_group_tells_everything(version: int) -> None:
    """Its protocol, and of each member what it wants and has."""
    node = await node_of(groups=[a_group("g")])

    (row,) = answer(API, asking("g"), node, version).groups

    assert row == DescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=(
            DescribedGroupMember(
                member_id="m-1",
                client_id="client-1",
                client_host="/10.0.0.7",
                member_metadata=b"wants",
                member_assignment=b"has",
            ),
        ),
    )


@pytest.mark.parametrize(
    ("version", "code", "text", "mask"),
    [(0, 0, None, UNASKED), (5, 0, None, 3400), (6, 69, "Group g not found.", UNASKED)],
)
async def test_unknown_groups(version: int, code: int, text: str | None, mask: int) -> None:
    """Dead without an error before v6, with a mask if asked for; then 69 without a mask."""
    node = await node_of()

    (row,) = answer(API, asking("g", masks=version >= 3), node, version).groups

    assert (row.error_code, row.error_message, row.group_state) == (code, text, "Dead")
    assert row.authorized_operations == mask


async def test_refused_groups_come_first() -> None:
    """30 and nothing else, also for groups that do not exist; the rest in the request's order."""
    node = await node_of(
        allow("alice", DESCRIBE, group("b")),
        allow("alice", READ, group("d")),
        groups=[a_group("b"), a_group("a")],
    )

    answered = answer(API, asking("d", "a", "b", "c", masks=True), node, 5, user="alice")

    rows = [(row.group_id, row.error_code, row.group_state) for row in answered.groups]
    assert rows == [("a", 30, ""), ("c", 30, ""), ("d", 0, "Dead"), ("b", 0, "Stable")]
    masks = [row.authorized_operations for row in answered.groups]
    assert masks == [UNASKED, UNASKED, 1 << READ | 1 << DESCRIBE, 1 << DESCRIBE]
    assert node.lines()[:4] == [
        "DEBUG Allowed DESCRIBE Group:LITERAL:d 1",
        "INFO Denied DESCRIBE Group:LITERAL:a 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:b 1",
        "INFO Denied DESCRIBE Group:LITERAL:c 1",
    ]


async def test_another_node_shows_groups() -> None:
    """A node that does not, says 16 of each that the caller may describe, found or not."""
    node = await node_of(allow("alice", DESCRIBE, group("g")), allow("alice", DESCRIBE, group("h")))
    node.coordinator_id = 0

    rows = answer(API, asking("g", "secret", "h", masks=True), node, 6, user="alice").groups

    assert [(row.group_id, row.error_code) for row in rows] == [
        ("secret", 30),
        ("g", 16),
        ("h", 16),
    ]
    assert {row.group_state for row in rows} == {""}
