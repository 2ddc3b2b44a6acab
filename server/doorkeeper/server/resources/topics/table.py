"""All topics at one moment. Snapshots share structure; a new topic costs O(log n)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Self

import immutables
from msgspec import Struct

from doorkeeper.server.resources.nested_maps import ChangingMaps
from doorkeeper.server.resources.topics.names import collision_key
from doorkeeper.server.schema.declared import StoredTopic


class Topics(Struct, frozen=True, eq=False, dict=True):
    """An immutable set of topics, by name and by id."""

    _by_name: immutables.Map[str, StoredTopic] = immutables.Map()
    _by_id: immutables.Map[bytes, StoredTopic] = immutables.Map()
    _by_collision_key: immutables.Map[str, immutables.Map[str, None]] = immutables.Map()

    @classmethod
    def of(cls, topics: Iterable[StoredTopic]) -> Self:
        return cls().with_changes(topics, ())

    def get(self, name: str) -> StoredTopic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> StoredTopic | None:
        return self._by_id.get(topic_id)

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted; O(n log n) at the first call."""
        return self._sorted

    # Sorted at the first use: most snapshots are replaced before a listing.
    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self._by_name))

    def colliding(self, name: str) -> str | None:
        """Return a topic whose name equals this one except in dots and underscores."""
        key = collision_key(name)
        names = None if key is None else self._by_collision_key.get(key)
        return None if names is None else next(iter(names))

    def with_changes(self, set: Iterable[StoredTopic], deleted: Iterable[StoredTopic]) -> Self:
        """Return these topics without some and with others; O(log n) for each."""
        by_name, by_id = self._by_name.mutate(), self._by_id.mutate()
        keys = ChangingMaps(self._by_collision_key)
        for row in deleted:
            gone = by_name.pop(row.name, None)
            if gone is not None:
                del by_id[gone.topic_id]
                if key := collision_key(row.name):
                    keys.of(key).pop(row.name)
        for topic in set:
            before = by_name.get(topic.name)
            # A topic that was deleted and created again in one change has a new id.
            if before is not None and before.topic_id != topic.topic_id:
                del by_id[before.topic_id]
            if key := collision_key(topic.name):
                keys.of(key)[topic.name] = None
            by_name[topic.name] = by_id[topic.topic_id] = topic
        return type(self)(by_name.finish(), by_id.finish(), keys.finish())
