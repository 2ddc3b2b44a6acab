"""Rows by key, as persistent maps: another table shares all but what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import immutables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

R = TypeVar("R", bound="tuple[object, ...]")


class Table(Generic[R]):
    """The rows of one kind. Never changes; ``changed`` returns another table."""

    __slots__ = ("_key_columns", "_rows")

    def __init__(
        self,
        key_columns: int,
        rows: immutables.Map[tuple[object, ...], R] | None = None,
    ) -> None:
        """Begin with no rows; the first ``key_columns`` columns are the key."""
        self._key_columns = key_columns
        self._rows: immutables.Map[tuple[object, ...], R] = (
            immutables.Map() if rows is None else rows
        )

    def get(self, *key: object) -> R | None:
        """Return the row of a key; None where there is none."""
        return self._rows.get(key)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def __iter__(self) -> Iterator[R]:
        """Yield the rows, in no order."""
        return iter(self._rows.values())

    def changed(self, set: Iterable[R], deleted: Iterable[R]) -> Table[R]:  # noqa: A002 - as Edit
        """Return the table without some rows, and with others: O(log n) for each."""
        size = self._key_columns
        with self._rows.mutate() as rows:
            for row in deleted:
                rows.pop(row[:size], None)
            for row in set:
                rows[row[:size]] = row
            found = rows.finish()
        return Table(size, found)
