"""A kind of state: its columns, the secret ones, and the encoding of its rows.

A store keeps a row as an ``Item``: the key as text, the value as a JSON array of the other columns
in their declared order. Secret columns are null in the value; they have an array of their own,
which the change log does not contain. In memory the rows of most kinds are a ``Table``, a
persistent map by key: a new version shares the unchanged rows.

Later versions may append columns with a default: a row without one gets the default, and unknown
columns are skipped. Thus versions that share a store read each other's rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

import immutables
from msgspec import Struct, convert, to_builtins

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_loads: Final = json.JSONDecoder().decode


_EMPTY: Final[dict[str, object]] = {"str": "", "bytes": "", "int": 0, "float": 0}
"""What JSON has of an empty value of each type that a secret may have; of others, an empty list."""


class Row(Struct, frozen=True, order=True, array_like=True, gc=False):
    """A row of a kind: its columns in their declared order, the key first."""

    SECRETS: ClassVar[frozenset[str]] = frozenset()
    """The columns that repr and the change log leave out."""

    def shown(self) -> dict[str, Any]:
        """Return the other columns, by name."""
        names = (name for name in self.__struct_fields__ if name not in self.SECRETS)
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}={value!r}" for name, value in self.shown().items())
        return f"{type(self).__name__}({columns})"


# Unpacked where rows are read and written, thousands in a request.
class Item(NamedTuple):
    """A row as a store keeps it; ``secret`` is None for a kind without secret columns."""

    key: str
    value: str
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Item({self.key!r}, {self.value!r})"


class Codec(Struct, frozen=True):
    """Convert rows of a kind to items and back; an item may lack its secret array.

    ``decode`` raises KeyError, TypeError or ValueError for an invalid item.
    """

    encode: Callable[[Any], Item]
    decode: Callable[[Item], Any]


class Kind(Struct, frozen=True, eq=False, dict=True):
    """One kind of state.

    ``name`` is its name in stores, ``field`` the attribute of ``State``, ``subject`` its name in
    audit events. ``row`` is the class of its rows, whose first ``key_columns`` are their key.
    ``audit_name`` and ``audit_detail`` are the columns that identify a row in the audit log.
    """

    name: str
    field: str
    subject: str
    row: type[Any]
    key_columns: int
    audit_name: str
    audit_detail: str = ""
    own_codec: Codec | None = None

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Return the names of the columns of the key."""
        columns: tuple[str, ...] = getattr(self.row, "__struct_fields__", None) or self.row._fields
        return columns[: self.key_columns]

    @cached_property
    def key_of(self) -> Callable[[Any], tuple[str, ...]]:
        """Return the function that returns the key of a row."""
        cells: Callable[[Any], Any] = attrgetter(*self.key)
        return cells if self.key_columns > 1 else lambda row: (cells(row),)

    @cached_property
    def codec(self) -> Codec:
        return self.own_codec or _row_codec(self.row, self.key_columns)

    @property
    def has_secrets(self) -> bool:
        return bool(getattr(self.row, "SECRETS", ()))

    def encode(self, row: object) -> Item:
        return self.codec.encode(row)

    def decode(self, item: Item) -> Any:  # noqa: ANN401 - a row of this kind
        """Return the row of an item.

        Raises:
            ValueError: the item is not of this kind; the text names kind and key.
        """
        try:
            return self.codec.decode(item)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"cannot read the {self.name} {item.key!r}: {error}") from error

    def __repr__(self) -> str:
        return f"Kind({self.name})"


def key_text(cells: Sequence[str]) -> str:
    """Return a key as stores keep it: a single cell as it is, several as a JSON array."""
    return cells[0] if len(cells) == 1 else _dumps(list(cells))


def _row_codec(row: type[Row], key: int) -> Codec:
    """Return the codec of rows whose first ``key`` columns are the key."""
    columns = row.__struct_fields__
    secrets = [at for at, name in enumerate(columns) if name in row.SECRETS]

    def encode(row: Row) -> Item:
        # JSON by json, not msgspec: texts may have lone surrogates, and stores have its numbers.
        cells = list(to_builtins(row, enc_hook=dict))
        hidden = [cells[at] for at in secrets]
        for at in secrets:
            cells[at] = None
        secret = _dumps(hidden) if secrets else None
        return Item(key_text(cells[:key]), _dumps(cells[key:]), secret)

    def decode(item: Item) -> object:
        keys = [item.key] if key == 1 else _list(item.key)
        if len(keys) != key:
            raise ValueError(f"found a key of {len(keys)} strings; expected: {key}")
        # Another version may have appended columns, or lack some (see the module).
        cells = keys + _list(item.value)
        hidden = None if item.secret is None else iter(_list(item.secret))
        for at in secrets:
            if at < len(cells):
                # Without secrets, as in the change log, their columns are empty.
                empty = _EMPTY.get(row.__annotations__[columns[at]], [])
                cells[at] = empty if hidden is None else next(hidden, None)
        return convert(cells, row)

    return Codec(encode, decode)


def _list(text: str) -> list[Any]:
    value = _loads(text)
    if not isinstance(value, list):
        raise ValueError(f"found {type(value).__name__}; expected: a JSON array")
    return value


# --- the rows of a kind in memory

R = TypeVar("R", bound=Row)


class Table(Struct, Generic[R], frozen=True, eq=False):
    """The rows of one kind; immutable."""

    _kind: Kind
    _rows: immutables.Map[tuple[str, ...], R] = immutables.Map()

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
