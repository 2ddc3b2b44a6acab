"""A kind of state: its columns, the secret ones, and the encoding of its rows.

A store keeps a row as an ``Item``: the key as text, the value as a JSON array of the other columns
in their declared order. Secret columns are null in the value; they have an array of their own,
which the change log does not contain.

Later versions may append columns with a default: a row without one gets the default, and unknown
columns are skipped. Thus versions that share a store read each other's rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct, convert, to_builtins

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_loads: Final = json.JSONDecoder().decode


_EMPTY: Final[dict[str, object]] = {
    "string": "",
    "int": 0,
    "float": 0,
    "bytes": "",
    "strings": [],
    "map": {},
}
"""What JSON has of an empty value of each type."""


class Row(Struct, frozen=True, order=True, array_like=True, gc=False):
    """A row of a kind: its columns in their declared order, the key first."""


# Unpacked where rows are read and written, thousands in a request.
class Item(NamedTuple):
    """A row as a store keeps it; ``secret`` is None for a kind without secret columns."""

    key: str
    value: str
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Item({self.key!r}, {self.value!r})"


class Column(Struct, frozen=True):
    """A column of a kind. ``type`` is string, int, float, bytes, strings or map."""

    name: str
    type: str
    secret: bool = False


class Codec(Struct, frozen=True):
    """Convert rows of a kind to items and back; an item may lack its secret array.

    ``decode`` raises KeyError, TypeError or ValueError for an invalid item.
    """

    encode: Callable[[Any], Item]
    decode: Callable[[Item], Any]


class Kind:
    """One kind of state.

    ``name`` is its name in stores, ``field`` the attribute of ``State``, ``subject`` its name in
    audit events. ``row`` is the class of its rows, ``key_of`` the key of one. ``audit_name``
    and ``audit_detail`` are the columns that identify a row in the audit log.
    """

    __slots__ = (
        "audit_detail",
        "audit_name",
        "codec",
        "columns",
        "field",
        "key_columns",
        "key_of",
        "name",
        "row",
        "subject",
    )

    def __init__(  # noqa: PLR0913 - one argument for each key of the declaration
        self,
        name: str,
        *,
        field: str,
        subject: str,
        row: type[Any],
        key: int,
        columns: Sequence[Column],
        audit_name: str,
        audit_detail: str = "",
        codec: Codec | None = None,
    ) -> None:
        """The first ``key`` columns are the key."""
        self.name = name
        self.field = field
        self.subject = subject
        self.row = row
        self.columns = tuple(columns)
        self.key_columns = key
        self.key_of = _key_getter([column.name for column in columns[:key]])
        self.audit_name = audit_name
        self.audit_detail = audit_detail
        self.codec = _row_codec(row, self.columns, key) if codec is None else codec

    @property
    def has_secrets(self) -> bool:
        return any(column.secret for column in self.columns)

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


def _key_getter(names: Sequence[str]) -> Callable[[Any], tuple[str, ...]]:
    cells: Callable[[Any], Any] = attrgetter(*names)
    return (lambda row: (cells(row),)) if len(names) == 1 else cells


def _row_codec(row: type[Row], columns: tuple[Column, ...], key: int) -> Codec:
    """Return the codec of rows that are structs of the columns."""
    secrets = [at for at, column in enumerate(columns) if column.secret]

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
                cells[at] = _EMPTY[columns[at].type] if hidden is None else next(hidden, None)
        return convert(cells, row)

    return Codec(encode, decode)


def _list(text: str) -> list[Any]:
    value = _loads(text)
    if not isinstance(value, list):
        raise ValueError("expected a JSON array")
    return value
