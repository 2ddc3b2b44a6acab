"""A kind of state: its columns, the secret ones, and the encoding of its rows.

A store keeps a row as an ``Item``: the key as text, the value as a JSON array of the other columns
in their declared order. Secret columns are null in the value; they have an array of their own,
which the change log does not contain.

Later versions may append columns with a default: a row without one gets the default, and unknown
columns are skipped. Thus versions that share a store read each other's rows.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_loads: Final = json.JSONDecoder().decode


def _base64(value: bytes) -> str:
    return b2a_base64(value, newline=False).decode("ascii")


_TO_JSON: Final[dict[str, Callable[[Any], Any]]] = {
    "float": float,
    "bytes": _base64,
    "strings": list,
    "map": dict,
}
_FROM_JSON: Final[dict[str, Callable[[Any], Any]]] = {
    "bytes": partial(a2b_base64, strict_mode=True),
    "strings": tuple,
}
_IN_JSON: Final[dict[str, type]] = {
    "string": str,
    "int": int,
    "float": float,
    "bytes": str,
    "strings": list,
    "map": dict,
}
_EMPTY: Final[dict[str, Any]] = {
    "string": "",
    "int": 0,
    "float": 0.0,
    "bytes": b"",
    "strings": (),
    "map": {},
}


class Item(NamedTuple):
    """A row as a store keeps it; ``secret`` is None for a kind without secret columns."""

    key: str
    value: str
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Item({self.key!r}, {self.value!r})"


class Column(NamedTuple):
    """A column of a kind. ``type`` is string, int, float, bytes, strings or map."""

    name: str
    type: str
    secret: bool = False


class Codec(NamedTuple):
    """Convert rows of a kind to items and back; an item may lack its secret array.

    ``decode`` raises KeyError, TypeError or ValueError for an invalid item.
    """

    encode: Callable[[Any], Item]
    decode: Callable[[Item], Any]


class Kind:
    """One kind of state.

    ``name`` is its name in stores, ``field`` the attribute of ``State``, ``subject`` its name in
    audit events. ``row`` is the class of its rows: a named tuple of all columns, the key first.
    ``audit_name`` and ``audit_detail`` are the columns that identify a row in the audit log.
    """

    __slots__ = (
        "audit_detail",
        "audit_name",
        "codec",
        "columns",
        "field",
        "key_columns",
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
            raise ValueError(f"the {self.name} {item.key!r} cannot be read: {error}") from error

    def __repr__(self) -> str:
        return f"Kind({self.name})"


def key_text(cells: Sequence[str]) -> str:
    """Return a key as stores keep it: a single cell as it is, several as a JSON array."""
    return cells[0] if len(cells) == 1 else _dumps(list(cells))


def _row_codec(row: type[Any], columns: tuple[Column, ...], key: int) -> Codec:
    """Return the codec of rows that are named tuples of the columns."""
    values = columns[key:]
    writers = [_TO_JSON.get(column.type) for column in values]
    is_secret = [column.secret for column in values]
    has_secrets = any(is_secret)

    def encode(found: tuple[Any, ...]) -> Item:
        cells = [
            cell if writer is None else writer(cell)
            for cell, writer in zip(found[key:], writers, strict=True)
        ]
        if not has_secrets:
            return Item(key_text(found[:key]), _dumps(cells))
        public = [None if secret else cell for cell, secret in zip(cells, is_secret, strict=True)]
        secrets = [cell for cell, secret in zip(cells, is_secret, strict=True) if secret]
        return Item(key_text(found[:key]), _dumps(public), _dumps(secrets))

    def decode(item: Item) -> object:
        keys = [item.key] if key == 1 else _list(item.key)
        if len(keys) != key or any(cell.__class__ is not str for cell in keys):
            raise ValueError(f"expected a key of {key} texts")
        secrets = None if item.secret is None else iter(_list(item.secret))
        # Not strict: another version may have appended columns, or lack some (see the module).
        cells = zip(_list(item.value), values, strict=False)
        return row(*keys, *[_cell(cell, column, secrets) for cell, column in cells])

    return Codec(encode, decode)


def _list(text: str) -> list[Any]:
    found = _loads(text)
    if not isinstance(found, list):
        raise ValueError("expected a JSON array")
    return found


def _cell(cell: object, column: Column, secrets: Iterator[Any] | None) -> object:
    """Return the value of a column; a secret one comes from ``hidden``.

    Without ``hidden``, as in the change log, secret columns are empty.
    """
    kind = column.type
    if column.secret:
        if secrets is None:
            return _EMPTY[kind]
        cell = next(secrets, None)
    # Not isinstance: JSON's true is no int.
    if type(cell) is not _IN_JSON[kind]:
        raise TypeError(f"{column.name} is no {kind}")
    reader = _FROM_JSON.get(kind)
    return cell if reader is None else reader(cell)
