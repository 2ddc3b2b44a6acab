"""Rows by key in persistent maps: a new version shares the unchanged rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import immutables

R = TypeVar("R", bound="tuple[object, ...]")


class Table(Generic[R]):
    """The rows of one kind; immutable."""

    __slots__ = ("_key_columns", "_rows")

    def __init__(
        self,
        key_columns: int,
        rows: immutables.Map[tuple[object, ...], R] | None = None,
    ) -> None:
        """The first ``key_columns`` columns are the key; the table is empty without ``rows``."""
        self._key_columns = key_columns
        self._rows: immutables.Map[tuple[object, ...], R] = (
            immutables.Map() if rows is None else rows
        )

    def get(self, *key: object) -> R | None:
        return self._rows.get(key)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        """Yield the rows, in no order."""
        return iter(self._rows.values())

    def with_changes(self, set: Iterable[R], deleted: Iterable[R]) -> Table[R]:
        """Return a table without ``deleted`` and with ``set``; O(log n) for each row."""
        size = self._key_columns
        # One mutation for all rows: a map for each row would copy its path again and again.
        with self._rows.mutate() as rows:
            for row in deleted:
                rows.pop(row[:size], None)
            for row in set:
                rows[row[:size]] = row
            found = rows.finish()
        return Table(size, found)
