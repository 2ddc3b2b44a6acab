"""Immutable maps of maps: rows by their owner, such as a group or a user, and their name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar

from immutables import Map, MapMutation
from msgspec import Struct

Owner = TypeVar("Owner", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ChangingMaps(Struct, Generic[Owner, K, V]):
    """A map of maps under construction from another one, which is unchanged."""

    _before: Map[Owner, Map[K, V]]
    _changed: dict[Owner, MapMutation[K, V]] = {}

    def of(self, owner: Owner) -> MapMutation[K, V]:
        """Return the inner map of an owner, to be changed."""
        mutation = self._changed.get(owner)
        if mutation is None:
            inner = self._before.get(owner)
            mutation = (Map() if inner is None else inner).mutate()
            self._changed[owner] = mutation
        return mutation

    def finish(self) -> Map[Owner, Map[K, V]]:
        """Return the new map, without inner maps that have become empty."""
        outer = self._before.mutate()
        for owner, changed in self._changed.items():
            inner = changed.finish()
            if inner:
                outer[owner] = inner
            else:
                outer.pop(owner, None)
        return outer.finish()


class OwnedValues(ABC, Generic[Owner, V]):
    """Rows of a name and a value, by owner; immutable."""

    __slots__ = ("_by_owner",)

    def __init__(self, by_owner: Map[Owner, Map[str, V]] | None = None) -> None:
        self._by_owner = Map() if by_owner is None else by_owner

    @staticmethod
    @abstractmethod
    def owner_of(row: Any) -> Owner:  # noqa: ANN401 - a row of the kind
        """Return the owner of a row."""

    def of(self, owner: Owner) -> Mapping[str, V]:
        """Return the values of an owner by name; empty without any."""
        return self._by_owner.get(owner, _NONE)

    def __iter__(self) -> Iterator[tuple[Owner, Mapping[str, V]]]:
        """Yield the owners that have values, in no order."""
        return iter(self._by_owner.items())

    def with_changes(self, set: Iterable[Any], deleted: Iterable[Any]) -> Self:
        """Return the values without ``deleted`` and with ``set``; O(log n) for each row."""
        changing = ChangingMaps(self._by_owner)
        for row in deleted:
            changing.of(self.owner_of(row)).pop(row.name, None)
        for row in set:
            changing.of(self.owner_of(row))[row.name] = row.value
        return type(self)(changing.finish())


_NONE: Map[str, Any] = Map()
