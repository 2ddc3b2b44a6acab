"""All topics at one moment: those of the catalog and those created by requests.

They are in two layers: a declared name hides a stored topic of that name, so another catalog only
replaces one layer. Snapshots share structure; a new topic costs O(log n).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import immutables

from doorkeeper.base.slices import parts
from doorkeeper.server.resources.cluster import Topic
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS, collision_key
from doorkeeper.server.schema.declared import StoredTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.base.slices import Slices

ID_BYTES = 16


def declared_id(cluster_id: str, name: str) -> bytes:
    """Return the id of a declared topic: the same at each start, but different in each cluster."""
    # A hash instead of a random id: the catalog is not stored, but clients cache topic ids.
    return hashlib.sha256(f"{cluster_id}/{name}".encode()).digest()[:ID_BYTES]


def topic_of(stored: StoredTopic) -> Topic:
    return Topic(
        name=stored.name,
        topic_id=stored.topic_id,
        partitions=stored.partitions,
        replication_factor=stored.replication_factor,
        configs=stored.configs,
        internal=stored.name in INTERNAL_TOPICS,
        assignments=tuple(map(_brokers_of, stored.assignments)),
    )


def _brokers_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def row_of(topic: Topic) -> StoredTopic:
    """Return the row of a topic that a request created."""
    name, topic_id, partitions, replication_factor, configs, *_ = topic
    return StoredTopic(
        name,
        topic_id,
        partitions,
        replication_factor,
        configs,
        tuple(map(text_of, topic.assignments)),
    )


def text_of(brokers: Sequence[int]) -> str:
    """Return the brokers of a partition as they are stored."""
    return ",".join(map(str, brokers))


class Layer(NamedTuple):
    """Topics of one origin in persistent maps; ``by_collision_key`` finds names that collide."""

    by_name: immutables.Map[str, Topic]
    by_id: immutables.Map[bytes, Topic]
    by_collision_key: immutables.Map[str, tuple[str, ...]]

    def with_changes(self, added: Iterable[Topic] = (), removed: Iterable[str] = ()) -> Layer:
        """Return this layer without ``removed`` and with ``added``; O(log n) for each."""
        changing = _Changing(self)
        for name in removed:
            changing.remove(name)
        for topic in added:
            changing.add(topic)
        return changing.finish()

    def replace_all(self, topics: Iterable[Topic]) -> Slices[Layer]:
        """Return the layer of other topics, in slices of 128 topics; unchanged topics are shared.

        It is this layer itself if nothing differs.
        """
        changing = _Changing(self)
        names: set[str] = set()
        for part in parts(topics):
            for topic in part:
                names.add(topic.name)
                # An equal topic keeps its object, and its place in the maps.
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
    """Pop the only layer of a list, and free its topics in slices.

    Freeing 20,000 topics at once takes about ten milliseconds. Other references would prevent it.
    """
    # The references here let the map go first; the topics follow part by part.
    held: list[Sequence[Topic]] = []
    for part in parts(layers.pop().by_name.values()):
        held.append(part)
        yield
    while held:
        part = held.pop()
        yield


class _Changing:
    """A layer under construction from another one, which is unchanged."""

    def __init__(self, before: Layer) -> None:
        self._before = before
        self._has_changed = False
        self._by_name, self._by_id = before.by_name.mutate(), before.by_id.mutate()
        self._by_collision_key = before.by_collision_key.mutate()

    def add(self, topic: Topic) -> None:
        """Add a topic, or replace the one with its name."""
        self._has_changed = True
        before = self._by_name.get(topic.name)
        if before is None:
            _remember(self._by_collision_key, topic.name)
        # A topic that was deleted and created again in one change has a new id.
        elif before.topic_id != topic.topic_id:
            del self._by_id[before.topic_id]
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic

    def remove(self, name: str) -> None:
        """Remove the topic with this name, if any."""
        topic = self._by_name.pop(name, None)
        if topic is not None:
            self._has_changed = True
            del self._by_id[topic.topic_id]
            _forget(self._by_collision_key, name)

    def finish(self) -> Layer:
        """Return the new layer; the old one if nothing has changed."""
        if not self._has_changed:
            return self._before
        return Layer(self._by_name.finish(), self._by_id.finish(), self._by_collision_key.finish())


EMPTY: Final = Layer(immutables.Map(), immutables.Map(), immutables.Map())


class Topics:
    """An immutable set of topics, by name and by id."""

    __slots__ = ("_sorted", "_stored", "declared")

    def __init__(self, declared: Layer = EMPTY, stored: Layer = EMPTY) -> None:
        """Join declared and stored topics; O(1)."""
        self.declared = declared
        self._stored = stored
        # Sorted at the first use: most snapshots are replaced before a listing.
        self._sorted: tuple[str, ...] | None = None

    @classmethod
    def of(cls, declared: Iterable[Topic] = (), stored: Iterable[Topic] = ()) -> Self:
        return cls(EMPTY.with_changes(declared), EMPTY.with_changes(stored))

    def get(self, name: str) -> Topic | None:
        return self.declared.by_name.get(name) or self._stored.by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        declared = self.declared.by_id.get(topic_id)
        if declared is not None:
            return declared
        stored = self._stored.by_id.get(topic_id)
        # A declared topic hides the stored one also by id.
        return None if stored is None or stored.name in self.declared.by_name else stored

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted; O(n log n) at the first call."""
        if self._sorted is None:
            self._sorted = tuple(sorted({*self.declared.by_name, *self._stored.by_name}))
        return self._sorted

    def colliding(self, name: str) -> str | None:
        """Return a topic whose name equals this one except in dots and underscores.

        Of two, return the declared one.
        """
        key = collision_key(name)
        if key is None:
            return None
        names = self.declared.by_collision_key.get(key) or self._stored.by_collision_key.get(key)
        return names[0] if names else None

    def with_declared(self, declared: Layer) -> Self:
        """Return these topics with another catalog; O(1)."""
        return type(self)(declared, self._stored)

    def with_changes(self, set: Iterable[StoredTopic], deleted: Iterable[StoredTopic]) -> Self:
        """Return these topics without some stored ones and with others.

        A change of a name that the catalog declares stays hidden.
        """
        added = map(topic_of, set)
        return type(self)(
            self.declared, self._stored.with_changes(added, (row.name for row in deleted))
        )


def _remember(index: immutables.MapMutation[str, tuple[str, ...]], name: str) -> None:
    key = collision_key(name)
    if key is not None:
        index[key] = (*index.get(key, ()), name)


def _forget(index: immutables.MapMutation[str, tuple[str, ...]], name: str) -> None:
    key = collision_key(name)
    if key is None:
        return
    left = tuple(each for each in index.get(key, ()) if each != name)
    if left:
        index[key] = left
    else:
        del index[key]
