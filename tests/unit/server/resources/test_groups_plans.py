"""Who may commit, what is refused, and what a change has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.resources import groups
from doorkeeper.server.resources.cluster import GroupMember
from doorkeeper.server.resources.groups import (
    Committer,
    Offsets,
    all_groups,
    check_committer,
    plan_commit,
    plan_deletion,
    plan_group_deletion,
    row_without_partition,
    size_of,
)
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset
from doorkeeper_wire.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from testkit.nodes import a_group

if TYPE_CHECKING:
    from doorkeeper.server.resources.cluster import Group

NO_MEMBER = Committer("", None, -1, 8)
STATIC = GroupMember("m-2", "i", "client", "/10.0.0.7", b"", b"")


def row(partition: str, offset: int = 5, metadata: str = "", group_id: str = "g") -> StoredOffset:
    return StoredOffset(group_id, partition, b"t" * 16, offset, -1, metadata)


def offsets(*rows: StoredOffset) -> Offsets:
    return Offsets().with_changes(rows, ())


def committed(
    table: Offsets, *rows: StoredOffset, group: Group | None = None
) -> tuple[Any, list[int]]:
    change, errors = run_to_end(plan_commit(table, group, NO_MEMBER, rows))
    return change, list(errors)


GROUPS = {
    "none": None,
    "empty": a_group("g", "Empty", members=()),
    "stable": a_group("g"),
    "static": a_group("g", members=(STATIC,)),
    "dead": a_group("g", "Dead", members=()),
    "live": a_group("g", generation=4),
    "assigning": a_group("g", "CompletingRebalance", generation=4),
    "new": a_group("g", group_type="consumer"),
    "new-empty": a_group("g", "Empty", group_type="consumer", members=()),
}


@pytest.mark.parametrize(
    ("group", "member_id", "instance_id", "epoch", "version", "code"),
    [
        ("none", "", None, -1, 2, 0),
        ("none", "m", None, 3, 8, 22),
        ("none", "m", None, 3, 9, 69),
        ("empty", "m", "i", -1, 8, 0),
        ("empty", "m", None, 0, 8, 25),
        ("stable", "", None, -1, 8, 25),
        ("stable", "m-1", None, 4, 8, 22),
        ("static", "m-9", "i", 4, 8, 82),
        ("static", "m-2", "i", 4, 8, 22),
        ("static", "m-2", "j", 4, 8, 25),
        ("live", "m-1", "j", 4, 8, 25),
        ("dead", "", None, -1, 8, 15),
        ("live", "m-1", None, 4, 8, 0),
        ("live", "m-1", None, 3, 8, 22),
        ("live", "m-2", None, 4, 8, 25),
        ("assigning", "m-1", None, 4, 8, 27),
        ("new", "", None, -1, 9, 25),
        ("new", "m-1", None, 4, 9, 113),
        ("new", "m-1", None, 1, 8, 35),
        ("new", "m-1", None, 1, 9, 0),
        ("new-empty", "", None, -1, 9, 0),
    ],
)
def test_commit_permissions_of_members(
    group: str, member_id: str, instance_id: str | None, epoch: int, version: int, code: int
) -> None:
    by = Committer(member_id, instance_id, epoch, version)
    found = ErrorCode.NONE

    try:
        check_committer(GROUPS[group], by)
    except ApiError as error:
        found = error.code

    assert found == code


def test_offsets_are_committed() -> None:
    """What is there already is no change; of two of a partition the last counts."""
    table = offsets(row("a-0"), row("a-1"))

    change, errors = committed(table, row("a-0"), row("a-1", 1), row("a-1", 2), row("b-0"))
    again, _ = committed(table, row("a-0"))

    assert change == edit(OFFSET, set=[row("a-1", 2), row("b-0")])
    assert errors == [0, 0, 0, 0]
    assert again == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("é" * 4096, 0),
        ("x" * 4097, 12),
        ("\N{GRINNING FACE}" * 2048, 0),
        ("\N{GRINNING FACE}" * 2049, 12),
    ],
)
def test_metadata_length_is_limited(text: str, code: int) -> None:
    """It counts as Java counts; a new group is made all the same, an empty one needs no row."""
    long = row("a-0", metadata=text)

    change, errors = committed(Offsets(), long)
    both, _ = committed(Offsets(), long, row("b-0"))
    empty, _ = committed(Offsets(), long, group=GROUPS["empty"])

    assert errors == [code]
    assert change[OFFSET].set == ((row_without_partition("g"),) if code else (long,))
    assert both[OFFSET].set[-1] == row("b-0")
    assert empty == ({} if code else edit(OFFSET, set=[long]))


def test_total_offset_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """28 where there is no room; a row that replaces another counts for the difference."""
    table = offsets(row("a-0"), row("b-0", group_id="h"))
    monkeypatch.setattr(groups, "SIZE_MAX", table.size + size_of(row("a-2")))
    group = a_group("g", "Empty", members=())

    change, errors = committed(
        table, row("a-1"), row("a-2"), row("a-0", 9), row("a-1", 7), group=group
    )
    new, refused = committed(
        table.with_changes([row("a-1")], ()), row("a-2", group_id="a new group")
    )

    assert errors == [0, 28, 0, 0]
    assert sorted(change[OFFSET].set) == [row("a-0", 9), row("a-1", 7)]
    assert (new, refused) == ({}, [28])


def test_number_of_groups_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """28 for a group that would be one more; those that are there go on."""
    monkeypatch.setattr(groups, "GROUPS_MAX", 2)
    table = offsets(row("a-0"), row_without_partition("h"))
    group = a_group("g", "Empty", members=())

    assert committed(table, row("a-0", group_id="i"), row("a-1", group_id="i")) == ({}, [28, 28])
    assert committed(table, row("a-1"), group=group) == (edit(OFFSET, set=[row("a-1")]), [0])


def member(*topics: str) -> GroupMember:
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=topics), 0)
    return GroupMember("m", None, "client", "/10.0.0.7", metadata, b"")


def deleted(table: Offsets, group: Group | None, *asked: tuple[str, int]) -> tuple[Any, list[int]]:
    change, errors = run_to_end(plan_deletion(table, group, "g", asked))
    return change, list(errors)


def test_offsets_are_deleted() -> None:
    """A partition without one is no error."""
    table = offsets(row("a-0"), row("a-1"), row("a-0", group_id="h"))
    group = all_groups(table)["g"]

    change, errors = deleted(table, group, ("a", 0), ("a", 0), ("a", 7), ("b", 0))

    assert change == edit(OFFSET, deleted=[row("a-0")])
    assert errors == [0, 0, 0, 0]


def test_subscribed_topics_keep_their_offsets() -> None:
    """86; a subscription that cannot be read may be of any topic. Other groups are refused."""
    table = offsets(row("a-0"), row("b-0"))

    one = deleted(table, a_group("g", members=(member("a"),)), ("a", 0), ("b", 0))
    any_ = deleted(table, a_group("g", group_type="consumer"), ("a", 0), ("b", 0))

    assert one == (edit(OFFSET, deleted=[row("b-0")]), [86, 0])
    assert any_ == ({}, [86, 86])
    others = {None: 69, GROUPS["dead"]: 69, a_group("g", protocol_type="connect"): 68}
    for group, code in others.items():
        with pytest.raises(ApiError) as refused:
            deleted(Offsets(), group, ("a", 0))
        assert refused.value.code == code


def test_groups_are_deleted_with_their_offsets() -> None:
    """Others are refused: absent ones, and those with members."""
    live = {
        "stable": a_group("stable"),
        "dead": a_group("dead", "Dead", members=()),
        "idle": a_group("idle", "Empty", members=()),
    }
    rows = [row("a-0"), row("b-0"), row("a-0", group_id="idle"), row_without_partition("bare")]
    table = offsets(*rows)
    codes = {"g": 0, "stable": 68, "dead": 69, "idle": 0, "bare": 0, "absent": 69, "": 69}

    change, errors = run_to_end(plan_group_deletion(table, all_groups(table, live), [*codes]))

    assert sorted(change[OFFSET].deleted) == sorted(rows)
    assert errors == [*codes.values()]
