"""All topics at one moment: those that the catalog declares and those made over the wire.

They lie in two layers: a name that the catalog declares hides a stored topic of that name, so that
another catalog is one other layer. Snapshots share structure, and one more topic costs O(log n).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import immutables

from doorkeeper.cluster.model import Topic
from doorkeeper.kinds.declared import StoredTopic
from doorkeeper.runtime.slices import parts
from doorkeeper.topics.names import INTERNAL_TOPICS, unified

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.runtime.slices import Slices

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


def row_of(topic: Topic) -> StoredTopic:
    """Return the row of a topic that was created over the wire."""
    name, topic_id, partitions, replication_factor, configs, *_ = topic
    return StoredTopic(name, topic_id, partitions, replication_factor, configs)


def replicas_of(partition: int, replication_factor: int, broker_ids: Sequence[int]) -> list[int]:
    """Return the brokers of a partition, its leader first.

    Partitions go round the brokers; there are never more replicas than brokers.
    """
    count = len(broker_ids)
    return [
        broker_ids[(partition + offset) % count] for offset in range(min(replication_factor, count))
    ]


class Layer(NamedTuple):
    """Topics of one origin, as persistent maps. ``unified`` has the names that may collide."""

    by_name: immutables.Map[str, Topic]
    by_id: immutables.Map[bytes, Topic]
    unified: immutables.Map[str, tuple[str, ...]]

    def changed(self, added: Iterable[Topic] = (), removed: Iterable[str] = ()) -> Layer:
        """Return this layer without some topics and with others: O(log n) for each."""
        changing = _Changing(self)
        for name in removed:
            changing.remove(name)
        for topic in added:
            changing.add(topic)
        return changing.finish()

    def replaced(self, topics: Iterable[Topic]) -> Slices[Layer]:
        """Return the layer of other topics: what differs is changed, 128 topics in a piece.

        It is this layer itself where nothing differs.
        """
        changing = _Changing(self)
        names: set[str] = set()
        for part in parts(topics):
            for topic in part:
                names.add(topic.name)
                if self.by_name.get(topic.name) != topic:
                    changing.add(topic)
            yield
        for old in parts(self.by_name):
            for name in old:
                if name not in names:
                    changing.remove(name)
            yield
        return changing.finish()


def let_go(layers: list[Layer]) -> Slices[None]:
    """Take the only layer of a list, and free its topics a piece at a time.

    Freeing 20,000 of them at once takes some ten milliseconds. Nobody else may hold the layer.
    """
    held: list[Sequence[Topic]] = []
    for part in parts(layers.pop().by_name.values()):
        held.append(part)
        yield
    while held:
        part = held.pop()
        yield


class _Changing:
    """A layer that is being made from another one, which stays as it is."""

    def __init__(self, before: Layer) -> None:
        self._before = before
        self._has_changed = False
        self._by_name, self._by_id = before.by_name.mutate(), before.by_id.mutate()
        self._unified = before.unified.mutate()

    def add(self, topic: Topic) -> None:
        """Add a topic in the place of the one of its name."""
        self._has_changed = True
        before = self._by_name.get(topic.name)
        if before is None:
            _remember(self._unified, topic.name)
        elif before.topic_id != topic.topic_id:
            del self._by_id[before.topic_id]
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic

    def remove(self, name: str) -> None:
        """Remove the topic of this name, if there is one."""
        topic = self._by_name.pop(name, None)
        if topic is not None:
            self._has_changed = True
            del self._by_id[topic.topic_id]
            _forget(self._unified, name)

    def finish(self) -> Layer:
        """Return the new layer; the old one if nothing has changed."""
        if not self._has_changed:
            return self._before
        return Layer(self._by_name.finish(), self._by_id.finish(), self._unified.finish())


EMPTY: Final = Layer(immutables.Map(), immutables.Map(), immutables.Map())


class Topics:
    """An immutable set of topics, found by name and by id."""

    __slots__ = ("_sorted", "_stored", "declared")

    def __init__(self, declared: Layer = EMPTY, stored: Layer = EMPTY) -> None:
        """Join what is declared with what is stored: O(1)."""
        self.declared = declared
        self._stored = stored
        self._sorted: tuple[str, ...] | None = None

    @classmethod
    def of(cls, declared: Iterable[Topic] = (), stored: Iterable[Topic] = ()) -> Self:
        """Return these topics."""
        return cls(EMPTY.changed(declared), EMPTY.changed(stored))

    def get(self, name: str) -> Topic | None:
        """Return the topic of this name."""
        return self.declared.by_name.get(name) or self._stored.by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic of this id (16 bytes)."""
        declared = self.declared.by_id.get(topic_id)
        if declared is not None:
            return declared
        stored = self._stored.by_id.get(topic_id)
        return None if stored is None or stored.name in self.declared.by_name else stored

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted; made at the first call, O(n log n)."""
        if self._sorted is None:
            self._sorted = tuple(sorted({*self.declared.by_name, *self._stored.by_name}))
        return self._sorted

    def colliding(self, name: str) -> str | None:
        """Return a topic whose name differs from this one at most in dots and underscores.

        Of two, the one that the catalog declares.
        """
        key = unified(name)
        if key is None:
            return None
        names = self.declared.unified.get(key) or self._stored.unified.get(key)
        return names[0] if names else None

    def with_declared(self, declared: Layer) -> Self:
        """Return these topics with another catalog: O(1)."""
        return type(self)(declared, self._stored)

    def changed(self, set: Iterable[StoredTopic], deleted: Iterable[StoredTopic]) -> Self:  # noqa: A002 - as Edit
        """Return these topics without some stored ones and with others.

        Names that the catalog declares are left as they are.
        """
        added = map(topic_of, set)
        return type(self)(self.declared, self._stored.changed(added, (row.name for row in deleted)))


def _remember(index: immutables.MapMutation[str, tuple[str, ...]], name: str) -> None:
    key = unified(name)
    if key is not None:
        index[key] = (*index.get(key, ()), name)


def _forget(index: immutables.MapMutation[str, tuple[str, ...]], name: str) -> None:
    key = unified(name)
    if key is None:
        return
    left = tuple(each for each in index.get(key, ()) if each != name)
    if left:
        index[key] = left
    else:
        del index[key]
