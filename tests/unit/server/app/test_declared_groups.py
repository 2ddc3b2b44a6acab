"""The file of declared groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.server.app.declared_groups import load
from doorkeeper.server.config.document import FaultyDocument
from doorkeeper.server.resources.cluster import Group, GroupMember
from doorkeeper.server.resources.consumer_protocol import (
    assignment_bytes,
    subscription_bytes,
)


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a file."""
    with pytest.raises(FaultyDocument) as caught:
        load(path)
    return [f"{each.path}: {each.text}" for each in caught.value.problems]


def test_everything_can_be_said(tmp_path: Path) -> None:
    """Members with what they subscribe to and what they were given."""
    file = tmp_path / "groups.yaml"
    file.write_text(
        "groups:\n- id: g\n  state: Stable\n  type: consumer\n  protocol_type: consumer\n"
        "  protocol: uniform\n  members:\n"
        "  - member_id: m\n    client_id: c\n    host: /10.0.0.7\n    instance_id: i\n"
        "    subscription: [orders, other]\n    assignment: {orders: [2, 0], other: [99]}\n"
    )

    member = GroupMember(
        "m",
        "i",
        "c",
        "/10.0.0.7",
        subscription_bytes(["orders", "other"]),
        assignment_bytes({"orders": [2, 0], "other": [99]}),
    )
    assert load(file) == {"g": Group("g", "Stable", "consumer", "consumer", "uniform", (member,))}


MEMBER = "- {{id: g, members: [{{member_id: m, {}}}]}}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- {}", "groups[0]: lacks id"),
        ("- id: g\n- id: g\n", "groups[1].id: declared twice"),
        ("- {id: g, type: share}", "groups[0].type: must be one of classic, consumer, not 'share'"),
        ("- {id: g, state: Assigning}", ("groups[0].state: must be one of Stable, Empty, Dead,"
         " PreparingRebalance, CompletingRebalance, not 'Assigning'")),
        ("- {id: g, state: Empty, members: [{member_id: m}]}",
         "groups[0]: a group in the state Empty has no members"),
        (MEMBER.format("clientid: x"),
         "groups[0].members[0].clientid: unknown key; did you mean client_id?"),
        (MEMBER.format("subscription: '?'"),
         "groups[0].members[0].subscription: must be a list or a mapping of topics, or base64"),
        (MEMBER.format("subscription: [a b]"), ("groups[0].members[0].subscription[0]: Topic name"
         " is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.',"
         " '_' and '-'")),
        (MEMBER.format("assignment: {orders: [-1]}"), ("groups[0].members[0].assignment.orders[0]:"
         " must be a whole number from 0 to 2147483647, not -1")),
        (MEMBER.format("assignment: {orders: [1, 1]}"),
         ("groups[0].members[0].assignment.orders[1]: partition 1 of orders is assigned to m"
          " already")),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, text: str, fault: str) -> None:
    """Each with its place and what would be right."""
    file = tmp_path / "groups.yaml"
    file.write_text(f"groups:\n{text}")

    assert faults_of(file) == [fault]


def test_a_file_without_groups(tmp_path: Path) -> None:
    """Declares none; other keys are faults."""
    file = tmp_path / "groups.yaml"
    file.write_text("# none yet\n")
    assert load(file) == {}
    file.write_text("topics: []\n")
    assert faults_of(file) == ["topics: unknown key; known are groups"]
