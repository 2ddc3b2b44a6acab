"""Rows by key in persistent maps: a new version shares the unchanged rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import immutables

from doorkeeper.server.schema.kind import Kind, Row

R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """The rows of one kind; immutable."""

    __slots__ = ("_kind", "_rows")

    def __init__(self, kind: Kind, rows: immutables.Map[tuple[str, ...], R] | None = None) -> None:
        """The table is empty without ``rows``."""
        self._kind = kind
        self._rows: immutables.Map[tuple[str, ...], R] = immutables.Map() if rows is None else rows

    def get(self, *key: str) -> R | None:
        return self._rows.get(key)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        """Yield the rows, in no order."""
        return iter(self._rows.values())

    def with_changes(self, set: Iterable[R], deleted: Iterable[R]) -> Table[R]:
        """Return a table without ``deleted`` and with ``set``; O(log n) for each row."""
        key_of = self._kind.key_of
        # One mutation for all rows: a map for each row would copy its path again and again.
        with self._rows.mutate() as rows:
            for row in deleted:
                rows.pop(key_of(row), None)
            for row in set:
                rows[key_of(row)] = row
            changed = rows.finish()
        return Table(self._kind, changed)
