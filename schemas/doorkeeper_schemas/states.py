"""Reads the kinds of state in `schemas/state/`, and writes `doorkeeper/server/schema/declared.py`.

A file declares one kind. All keys are required but those in brackets:

    kind      its name in stores, and the name of the file
    meaning   what a row is
    field     the attribute of the server's State that holds the rows
    audit     subject: what events call the kind; name, [detail]: columns that identify a row
    [row]     a class of rows written by hand; its module has the CODEC of the rows
    key       the columns of the key, texts all of them
    values    the other columns; a column may be appended later if it has a default

A column has name, type (string, int, float, bytes, strings, map), meaning, [secret], [default].
"""

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from doorkeeper_wire.declared.schema_file import FileReader, load

_KIND_KEYS = {"kind", "meaning", "field", "audit", "row", "key", "values"}
_COLUMN_KEYS = {"name", "type", "meaning", "secret", "default"}

TYPES: Mapping[str, tuple[str, Any]] = {
    "string": ("str", ""),
    "int": ("int", 0),
    "float": ("float", 0.0),
    "bytes": ("bytes", b""),
    "strings": ("tuple[str, ...]", ()),
    "map": ("Mapping[str, str]", {}),
}
"""The types of columns: the annotation of each, and its empty value."""

_NO_DEFAULT = object()
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; ``default`` is Python source, None where there is no default."""

    name: str
    type: str
    meaning: str
    secret: bool
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKind:
    """One kind of state. ``row_module`` is empty where the class of rows is generated."""

    name: str
    meaning: str
    field: str
    subject: str
    audit_name: str
    audit_detail: str
    row_module: str
    row_class: str
    key: tuple[Column, ...]
    values: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return all columns, the key first."""
        return self.key + self.values


def read_states(folder: Path) -> tuple[StateKind, ...]:
    """Read all kinds, sorted by name.

    Raises:
        SchemaError: naming the file and the place in it.
    """
    kinds: list[StateKind] = []
    for path in sorted(folder.glob("*.yaml")):
        taken = {kind.field: kind.name for kind in kinds}
        kinds.append(_Reader(str(path)).kind(load(path), path.stem, taken))
    return tuple(kinds)


class _Reader(FileReader):
    """Reads the file of one kind."""

    def kind(self, content: object, name: str, taken: Mapping[str, str]) -> StateKind:
        """Return the kind; ``taken`` are the fields of other kinds."""
        top = self._mapping(content, name)
        self._only(top, _KIND_KEYS, name)
        if self._text(top, "kind", name) != name:
            raise self._error(name, f"{top['kind']} belongs in {top['kind']}.yaml")
        field = self._identifier(top, "field", name)
        if field in taken:
            raise self._error(name, f"field {field} is that of the kind {taken[field]}")
        key, values = self._columns(top, "key", name), self._columns(top, "values", name)
        self._check_columns(key, values, name)
        audit = self._audit(top.get("audit"), {field.name: field for field in key + values}, name)
        module, _, row = str(top.get("row", "")).rpartition(".")
        if "row" in top and not (module and row.isidentifier()):
            raise self._error(name, f"row must be module.Class, found {top['row']!r}")
        return StateKind(
            name=name,
            meaning=self._text(top, "meaning", name),
            field=field,
            subject=audit["subject"],
            audit_name=audit["name"],
            audit_detail=audit.get("detail", ""),
            row_module=module,
            row_class=row or "Stored" + "".join(part.capitalize() for part in name.split("_")),
            key=key,
            values=values,
        )

    def _columns(self, top: Mapping[str, Any], part: str, where: str) -> tuple[Column, ...]:
        content = top.get(part)
        if not isinstance(content, list) or not content:
            raise self._error(where, f"{part} must be a list of columns, found {content!r}")
        return tuple(self._column(each, where) for each in content)

    def _column(self, content: object, where: str) -> Column:
        entry = self._mapping(content, where)
        name = self._identifier(entry, "name", where)
        where = f"{where}.{name}"
        self._only(entry, _COLUMN_KEYS, where)
        kind = self._text(entry, "type", where)
        if kind not in TYPES:
            raise self._error(where, f"type must be one of {', '.join(TYPES)}, found {kind}")
        return Column(
            name=name,
            type=kind,
            meaning=self._text(entry, "meaning", where),
            secret=self._flag(entry, "secret", where, default=False),
            default=self._default(entry, kind, where),
        )

    def _default(self, entry: Mapping[str, Any], kind: str, where: str) -> str | None:
        """Return the source of the default: any text or number, of other types what is empty."""
        value = entry.get("default", _NO_DEFAULT)
        if value is _NO_DEFAULT:
            return None
        plain = TYPES[kind][1]
        if kind in {"string", "int", "float"}:
            if type(value) is not type(plain):
                raise self._error(where, f"default {value!r} is not of type {kind}")
            return repr(value)
        if value not in ("", [], {}):  # YAML writes what is empty in one of these ways
            raise self._error(where, f"the default of {kind} can only be empty, found {value!r}")
        return repr(plain)

    def _check_columns(
        self, key: tuple[Column, ...], values: tuple[Column, ...], where: str
    ) -> None:
        names = [column.name for column in key + values]
        if len(set(names)) != len(names):
            twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
            raise self._error(where, f"duplicate column: {twice}")
        for column in key:
            if column.type != "string" or column.secret or column.default is not None:
                reason = "a column of the key is a string, not secret, without default"
                raise self._error(f"{where}.{column.name}", reason)
        for before, column in pairwise(values):
            if before.default is not None and column.default is None:
                reason = "default is missing: columns before it have one, so it was added later"
                raise self._error(f"{where}.{column.name}", reason)

    def _audit(
        self, content: object, columns: Mapping[str, Column], where: str
    ) -> Mapping[str, str]:
        where = f"{where}.audit"
        audit = self._mapping(content, where)
        self._only(audit, {"subject", "name", "detail"}, where)
        self._text(audit, "subject", where)
        for part in ("name", "detail") if "detail" in audit else ("name",):
            column = columns.get(self._text(audit, part, where))
            if column is None or column.secret or column.type != "string":
                reason = f"{part} must be a column of type string that is not secret"
                raise self._error(where, f"{reason}, found {audit[part]}")
        return audit

    def _identifier(self, entry: Mapping[str, Any], key: str, where: str) -> str:
        name = self._text(entry, key, where)
        if not name.isidentifier() or name.startswith("_"):
            raise self._error(where, f"{key} must be a name as Python has it, found {name}")
        return name


def declared_state_source(kinds: Iterable[StateKind]) -> str:
    """Return the source of `doorkeeper/server/schema/declared.py`, not yet formatted."""
    kinds = tuple(kinds)
    by_hand = [kind for kind in kinds if kind.row_module]
    imports = "".join(
        f"from {kind.row_module} import CODEC as {kind.name.upper()}_CODEC, {kind.row_class}\n"
        for kind in by_hand
    )
    needs_mapping = "from collections.abc import Mapping\n"
    rows = "\n\n".join(_row_source(kind) for kind in kinds if not kind.row_module)
    constants = "\n".join(_constant_source(kind) for kind in kinds)
    names = ", ".join(kind.name.upper() for kind in kinds)
    return (
        "# Generated by doorkeeper_schemas from schemas/state/*.yaml; do not edit.\n"
        '"""Every kind of state, and the rows that stores keep of it."""\n\n'
        "from __future__ import annotations\n\n"
        f"{needs_mapping}from typing import ClassVar, Final\n\n"
        f"{imports}from doorkeeper.server.schema.kind import Kind, Row\n\n\n"
        f"{rows}\n\n{constants}\n"
        "KINDS: Final[Mapping[str, Kind]] = "
        f"{{kind.name: kind for kind in ({names},)}}\n"
        '"""Every kind by its name."""\n'
    )


def _row_source(kind: StateKind) -> str:
    attributes = "\n".join(
        _wrapped(f"{column.name}: {column.meaning}", 8, 12) for column in kind.columns
    )
    fields = "\n".join(
        f"    {column.name}: {TYPES[column.type][0]}"
        + ("" if column.default is None else f" = {column.default}")
        for column in kind.columns
    )
    meaning = _wrapped(f'"""{kind.meaning}', 4, 4)
    source = (
        f"class {kind.row_class}(Row, frozen=True):\n{meaning}\n\n"
        f'    Attributes:\n{attributes}\n    """\n\n{fields}\n'
    )
    secrets = ", ".join(f'"{column.name}"' for column in kind.columns if column.secret)
    if secrets:
        source += f"\n    SECRETS: ClassVar[frozenset[str]] = frozenset({{{secrets}}})\n"
    return source


def _constant_source(kind: StateKind) -> str:
    detail = f'audit_detail="{kind.audit_detail}", ' if kind.audit_detail else ""
    codec = f"own_codec={kind.name.upper()}_CODEC, " if kind.row_module else ""
    return (
        f'{kind.name.upper()}: Final = Kind("{kind.name}", field="{kind.field}", '
        f'subject="{kind.subject}", row={kind.row_class}, '
        f'key_columns={len(kind.key)}, audit_name="{kind.audit_name}", '
        f"{detail}{codec})\n"
    )


def _wrapped(text: str, indent: int, further: int) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * further,
        break_long_words=False,
        break_on_hyphens=False,
    )
