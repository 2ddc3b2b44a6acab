"""The groups that a catalog declares."""

from __future__ import annotations

import pytest

from doorkeeper.server.resources.catalog.consumer_protocol import (
    assignment_bytes,
    subscription_bytes,
)
from doorkeeper.server.resources.catalog.document import FaultList, parse
from doorkeeper.server.resources.catalog.groups import read_groups
from doorkeeper.server.resources.cluster import Group, GroupMember


def read(text: str) -> tuple[list[Group], list[str]]:
    """Return the groups of a list, and what is wrong with it; ``orders`` has three partitions."""
    faults = FaultList("c")
    value = parse(text, faults)
    assert value is not None
    groups = read_groups(value, {"orders": 3})
    return groups, [f"{each.path}: {each.text}" for each in faults.problems]


def test_everything_can_be_said() -> None:
    """Members with what they subscribe to and what they were given."""
    groups, faults = read(
        "- id: g\n  state: Stable\n  type: consumer\n  protocol_type: consumer\n"
        "  protocol: uniform\n  members:\n"
        "  - member_id: m\n    client_id: c\n    host: /10.0.0.7\n    instance_id: i\n"
        "    subscription: [orders, other]\n    assignment: {orders: [2, 0], other: [99]}\n"
    )

    assert faults == []
    member = GroupMember(
        "m",
        "i",
        "c",
        "/10.0.0.7",
        subscription_bytes(["orders", "other"]),
        assignment_bytes({"orders": [2, 0], "other": [99]}),
    )
    assert groups == [Group("g", "Stable", "consumer", "consumer", "uniform", (member,))]


MEMBER = "- {{id: g, members: [{{member_id: m, {}}}]}}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- {}", "[0]: lacks id"),
        ("- id: g\n- id: g\n", "[1].id: declared twice"),
        ("- {id: g, type: share}", "[0].type: must be one of classic, consumer, not 'share'"),
        ("- {id: g, state: Assigning}", ("[0].state: must be one of Stable, Empty, Dead,"
         " PreparingRebalance, CompletingRebalance, not 'Assigning'")),
        ("- {id: g, state: Empty, members: [{member_id: m}]}",
         "[0]: a group in the state Empty has no members"),
        (MEMBER.format("clientid: x"),
         "[0].members[0].clientid: unknown key; did you mean client_id?"),
        (MEMBER.format("subscription: '?'"),
         "[0].members[0].subscription: must be a list or a mapping of topics, or base64"),
        (MEMBER.format("subscription: [a b]"), ("[0].members[0].subscription[0]: Topic name is"
         " invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_'"
         " and '-'")),
        (MEMBER.format("assignment: {orders: [3]}"), ("[0].members[0].assignment.orders[0]: must be"
         " a whole number from 0 to 2, not '3'")),
        (MEMBER.format("assignment: {orders: [1, 1]}"), ("[0].members[0].assignment.orders[1]:"
         " partition 1 of orders is assigned to m already")),
    ],
)  # fmt: skip
def test_faults(text: str, fault: str) -> None:
    """Each with its place and what would be right."""
    assert read(text)[1] == [fault]
