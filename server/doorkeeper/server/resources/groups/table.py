"""Committed offsets of all groups at one moment, and the groups that they make.

A group without members exists while it has a row. When its last offset is deleted, a row without a
partition keeps it, as a broker keeps the group. Snapshots share structure; a change of a row costs
O(log n).
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import immutables

from doorkeeper.server.resources.cluster import Group
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.server.resources.cluster import Topic
    from doorkeeper.server.schema.change import Change

K = TypeVar("K")

NO_GROUPS: Final[Mapping[str, Group]] = {}

ROW_SIZE: Final = 256
"""What a row counts for, besides its texts; about the bytes of its objects."""

_NONE: Final[immutables.Map[str, StoredOffset]] = immutables.Map()


def partition_text(topic: str, index: int) -> str:
    """Return the name of a partition as stores keep it, such as ``orders-0``."""
    return f"{topic}-{index}"


def topic_of(row: StoredOffset) -> str:
    """Return the topic of a row; empty for a row without a partition."""
    return row.partition.rpartition("-")[0]


def index_of(row: StoredOffset) -> int:
    """Return the number of the partition of a row that has one."""
    return int(row.partition.rpartition("-")[2])


def is_of(row: StoredOffset, topic: Topic | None) -> bool:
    """Return whether an offset belongs to a topic, and not to an earlier one of its name."""
    return topic is not None and row.topic_id == topic.topic_id


def row_without_partition(group_id: str) -> StoredOffset:
    """Return the row of a group that has no offset."""
    return StoredOffset(group_id, "", b"", 0, -1, "")


def size_of(row: StoredOffset) -> int:
    """Return what a row counts for in the limit on all rows."""
    return ROW_SIZE + len(row.group_id) + len(row.partition) + len(row.metadata)


class Offsets:
    """The committed offsets; immutable. ``size`` is the sum of what the rows count for."""

    __slots__ = ("_by_group", "_by_topic", "size")

    def __init__(
        self,
        by_group: immutables.Map[str, immutables.Map[str, StoredOffset]] | None = None,
        by_topic: immutables.Map[str, immutables.Map[tuple[str, str], StoredOffset]] | None = None,
        size: int = 0,
    ) -> None:
        """The table is empty without maps; the inner ones are never empty."""
        self._by_group = immutables.Map() if by_group is None else by_group
        self._by_topic = immutables.Map() if by_topic is None else by_topic
        self.size = size

    def of_group(self, group_id: str) -> Mapping[str, StoredOffset]:
        """Return the rows of a group by partition; empty if there is no such group."""
        return self._by_group.get(group_id, _NONE)

    def of_topic(self, topic: str) -> Iterable[StoredOffset]:
        """Return the rows of a topic, of all groups, in no order."""
        found = self._by_topic.get(topic)
        return () if found is None else found.values()

    def groups(self) -> Mapping[str, Mapping[str, StoredOffset]]:
        """Return the groups by id."""
        return self._by_group

    def __iter__(self) -> Iterator[StoredOffset]:
        """Yield the rows, in no order."""
        return (row for rows in self._by_group.values() for row in rows.values())

    def with_changes(self, set: Iterable[StoredOffset], deleted: Iterable[StoredOffset]) -> Self:
        """Return the offsets without ``deleted`` and with ``set``; O(log n) for each row."""
        by_group, by_topic = _ChangingMaps(self._by_group), _ChangingMaps(self._by_topic)
        size = self.size
        for row in deleted:
            old = by_group.of(row.group_id).pop(row.partition, None)
            if old is not None:
                size -= size_of(old)
                by_topic.of(topic_of(row)).pop(row[:2], None)
        for row in set:
            rows = by_group.of(row.group_id)
            old = rows.get(row.partition)
            size += size_of(row) - (0 if old is None else size_of(old))
            rows[row.partition] = row
            if row.partition:
                by_topic.of(topic_of(row))[row[:2]] = row
        return type(self)(by_group.finish(), by_topic.finish(), size)


class _ChangingMaps(Generic[K]):
    """A map of maps under construction from another one, which is unchanged."""

    def __init__(self, before: immutables.Map[str, immutables.Map[K, StoredOffset]]) -> None:
        self._before = before
        self._changed: dict[str, immutables.MapMutation[K, StoredOffset]] = {}

    def of(self, name: str) -> immutables.MapMutation[K, StoredOffset]:
        """Return the inner map of a name, to be changed."""
        found = self._changed.get(name)
        if found is None:
            inner = self._before.get(name)
            found = (immutables.Map() if inner is None else inner).mutate()
            self._changed[name] = found
        return found

    def finish(self) -> immutables.Map[str, immutables.Map[K, StoredOffset]]:
        """Return the new map, without inner maps that have become empty."""
        outer = self._before.mutate()
        for name, changed in self._changed.items():
            inner = changed.finish()
            if inner:
                outer[name] = inner
            else:
                outer.pop(name, None)
        return outer.finish()


def deletion(offsets: Offsets, rows: Iterable[StoredOffset]) -> Change:
    """Return the change that deletes offsets; groups without further offsets remain, empty."""
    gone = tuple(rows)
    counts = Counter(row.group_id for row in gone)
    emptied = [
        row_without_partition(group_id)
        for group_id, count in counts.items()
        if count == len(offsets.of_group(group_id))
    ]
    return edit(OFFSET, set=emptied, deleted=gone)


def deletion_of_topics(offsets: Offsets, names: Iterable[str]) -> Change:
    """Return the change that deletes the offsets of topics."""
    return deletion(offsets, (row for name in names for row in offsets.of_topic(name)))


def group_of(group_id: str) -> Group:
    """Return a group without members, as a broker describes one that commits have created."""
    return Group(group_id, "Empty", "classic", "", "", ())


def all_groups(
    declared: Mapping[str, Group], offsets: Offsets, live: Mapping[str, Group] = NO_GROUPS
) -> Mapping[str, Group]:
    """Return all groups by id: a declared group hides a live one, and that one of offsets."""
    if not live and not offsets.groups():
        return declared
    # A ChainMap only reads the mappings here, which its type requires to be mutable.
    layers: tuple[Any, ...] = (declared, live, _OffsetGroups(offsets))
    return ChainMap(*layers)


class _OffsetGroups(Mapping[str, Group]):
    """The groups that have committed offsets, as they are without members."""

    def __init__(self, offsets: Offsets) -> None:
        self._ids = offsets.groups()

    def __getitem__(self, group_id: str) -> Group:
        if group_id in self._ids:
            return group_of(group_id)
        raise KeyError(group_id)

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
