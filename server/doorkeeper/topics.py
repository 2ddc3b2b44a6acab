"""All topics at one moment: those that the catalog declares and those made over the wire.

A name that the catalog declares hides a stored topic of that name. Snapshots share structure, so
that one more topic costs O(log n).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, Self

import immutables

from doorkeeper.node import Topic
from doorkeeper.topic_names import INTERNAL_TOPICS, unified

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.storage.contract import StoredTopic

ID_BYTES = 16


def declared_id(cluster_id: str, name: str) -> bytes:
    """Return the id of a topic of the catalog: the same at each start, another in each cluster."""
    return hashlib.sha256(f"{cluster_id}/{name}".encode()).digest()[:ID_BYTES]


def topic_of(stored: StoredTopic) -> Topic:
    """Return the topic that a row of the store describes."""
    return Topic(
        name=stored.name,
        topic_id=stored.topic_id,
        partitions=stored.partitions,
        replication_factor=stored.replication_factor,
        configs=stored.configs,
        internal=stored.name in INTERNAL_TOPICS,
    )


def replicas_of(partition: int, replication_factor: int, broker_ids: Sequence[int]) -> list[int]:
    """Return the brokers of a partition, its leader first.

    Partitions go round the brokers; there are never more replicas than brokers.
    """
    count = len(broker_ids)
    return [
        broker_ids[(partition + offset) % count] for offset in range(min(replication_factor, count))
    ]


class _Index(NamedTuple):
    """The maps of a snapshot. ``visible`` is what is stored, with what is declared over it."""

    declared: immutables.Map[str, Topic]
    stored: immutables.Map[str, Topic]
    visible: immutables.Map[str, Topic]
    by_id: immutables.Map[bytes, Topic]
    unified: immutables.Map[str, tuple[str, ...]]


class Topics:
    """An immutable set of topics, found by name and by id."""

    __slots__ = ("_index", "_sorted")

    def __init__(self, declared: Iterable[Topic] = (), stored: Iterable[Topic] = ()) -> None:
        """Join what is declared with what is stored."""
        declared_map = immutables.Map({topic.name: topic for topic in declared})
        stored_map = immutables.Map({topic.name: topic for topic in stored})
        visible = stored_map.update(declared_map)
        self._sorted: tuple[str, ...] | None = None
        self._index = _Index(
            declared_map,
            stored_map,
            visible,
            immutables.Map({topic.topic_id: topic for topic in visible.values()}),
            _with_names(immutables.Map(), visible),
        )

    @classmethod
    def _of(cls, index: _Index) -> Self:
        topics = cls.__new__(cls)
        topics._index = index  # noqa: SLF001  its own
        topics._sorted = None  # noqa: SLF001  as above
        return topics

    def __len__(self) -> int:
        return len(self._index.visible)

    def get(self, name: str) -> Topic | None:
        """Return the topic of this name."""
        return self._index.visible.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic of this id (16 bytes)."""
        return self._index.by_id.get(topic_id)

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted; made at the first call, O(n log n)."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._index.visible))
        return self._sorted

    def colliding(self, name: str) -> str | None:
        """Return a topic whose name differs from this one at most in dots and underscores."""
        key = unified(name)
        names = () if key is None else self._index.unified.get(key, ())
        return names[0] if names else None

    def with_declared(self, declared: Iterable[Topic]) -> Self:
        """Return these topics with another catalog: O(n)."""
        return type(self)(declared, self._index.stored.values())

    def with_stored(self, stored: Iterable[Topic]) -> Self:
        """Return what the catalog declares with other stored topics: O(n)."""
        return type(self)(self._index.declared.values(), stored)

    def changed(self, added: Iterable[Topic] = (), removed: Iterable[str] = ()) -> Self:
        """Return these topics without some and with others, all of them stored ones.

        Names that the catalog declares are left as they are.
        """
        declared, stored, visible, by_id, unified_names = self._index
        for name in removed:
            topic = stored.get(name)
            if topic is None:
                continue
            stored = stored.delete(name)
            if name in declared:
                continue
            visible = visible.delete(name)
            by_id = by_id.delete(topic.topic_id)
            unified_names = _without_name(unified_names, name)
        for topic in added:
            stored = stored.set(topic.name, topic)
            if topic.name in declared:
                continue
            visible = visible.set(topic.name, topic)
            by_id = by_id.set(topic.topic_id, topic)
            unified_names = _with_names(unified_names, [topic.name])
        return self._of(_Index(declared, stored, visible, by_id, unified_names))


def _with_names(
    index: immutables.Map[str, tuple[str, ...]], names: Iterable[str]
) -> immutables.Map[str, tuple[str, ...]]:
    added: dict[str, tuple[str, ...]] = {}
    for name in names:
        key = unified(name)
        if key is not None:
            before = added[key] if key in added else index.get(key, ())
            added[key] = (*before, name)
    return index.update(added)


def _without_name(
    index: immutables.Map[str, tuple[str, ...]], name: str
) -> immutables.Map[str, tuple[str, ...]]:
    key = unified(name)
    if key is None:
        return index
    left = tuple(each for each in index.get(key, ()) if each != name)
    return index.set(key, left) if left else index.delete(key)
