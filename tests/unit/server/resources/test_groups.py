"""Committed offsets by group and by topic, and the groups that they make."""

from __future__ import annotations

from random import Random

import pytest

from doorkeeper.server.resources.groups import (
    Offsets,
    all_groups,
    deletion,
    deletion_of_topics,
    index_of,
    partition_text,
    row_without_partition,
    size_of,
    topic_of,
)
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset
from testkit.nodes import a_group


def row(group_id: str, partition: str, offset: int = 5, metadata: str = "") -> StoredOffset:
    return StoredOffset(group_id, partition, b"t" * 16, offset, -1, metadata)


def offsets(*rows: StoredOffset) -> Offsets:
    return Offsets().with_changes(rows, ())


A, B, C = row("g", "a-0"), row("g", "b-0"), row("h", "a-1")


@pytest.mark.parametrize(("topic", "index"), [("a", 0), ("a-b.c", 12), ("", 3)])
def test_partition_names(topic: str, index: int) -> None:
    found = row("g", partition_text(topic, index))

    assert (topic_of(found), index_of(found)) == (topic, index)


def test_rows_are_found_by_group_and_topic() -> None:
    table = offsets(A, B, C, row_without_partition("i"))

    after = table.with_changes([row("g", "b-0", 7)], [A, C, row_without_partition("i")])

    assert dict(table.of_group("g")) == {"a-0": A, "b-0": B}
    assert sorted(table.of_topic("a")) == [A, C]
    assert list(table.of_topic("")) == []
    assert dict(table.of_group("x")) == {}
    assert sorted(table.groups()) == ["g", "h", "i"]
    assert list(after.groups()) == ["g"]
    assert list(after.of_topic("a")) == []


def test_size_matches_the_rows() -> None:
    chance = Random(5)
    table, rows = Offsets(), dict[tuple[str, str], StoredOffset]()
    for _ in range(300):
        found = row(chance.choice("gh"), f"{chance.choice('ab')}-0", 0, "x" * chance.randrange(9))
        if chance.random() < 0.5:
            table, rows[found.group_id, found.partition] = table.with_changes([found], ()), found
        else:
            table = table.with_changes((), [found])
            rows.pop((found.group_id, found.partition), None)
        of_topics = [each for topic in "ab" for each in table.of_topic(topic)]

        assert table.size == sum(map(size_of, rows.values()))
        assert sorted(table) == sorted(of_topics) == sorted(rows.values())


def test_group_remains_without_offsets() -> None:
    table = offsets(A, B, C)

    one = deletion(table, [A])
    both = deletion(table, [A, B])
    topic = deletion_of_topics(table, ["a", "absent"])
    empty = table.with_changes(*both[OFFSET])
    again = deletion(empty.with_changes([A], ()), [A])

    assert one == edit(OFFSET, deleted=[A])
    assert both == edit(OFFSET, set=[row_without_partition("g")], deleted=[A, B])
    assert topic[OFFSET].set == (row_without_partition("h"),)
    assert sorted(topic[OFFSET].deleted) == [A, C]
    assert dict(empty.of_group("g")) == {"": row_without_partition("g")}
    assert again == edit(OFFSET, deleted=[A])
    assert deletion_of_topics(table, ["absent"]) == {}


def test_groups_of_offsets_are_classic_and_empty() -> None:
    live = {"g": a_group("g"), "z": a_group("z")}

    groups = all_groups(offsets(A, C), live)

    assert groups["g"] is live["g"]
    assert groups["h"] == a_group("h", "Empty", protocol_type="", protocol="", members=())
    assert sorted(groups) == ["g", "h", "z"]
    assert len(groups) == 3
    assert "h" in groups
    assert groups.get("x") is None
    assert dict(all_groups(Offsets())) == {}
