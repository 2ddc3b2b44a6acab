"""The table of Kafka Security Manager and kafka-ui (RFC 4180).

    KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
    User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*

kafka-ui names the first column ``Principal``. Columns may be in any order. It quotes no commas,
which distinguished names have: in its rows they are told from the others by the words around them.

A spreadsheet would run a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage
return, and names come from outside: such a cell begins with an apostrophe, which reading removes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final

from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.documents import Path, line_in_path
from doorkeeper.acls.formats.names import FormatError, binding_of
from doorkeeper.acls.model import AclBinding, PatternType, ResourceType

SECURITY_MANAGER = (
    "KafkaPrincipal",
    "ResourceType",
    "PatternType",
    "ResourceName",
    "Operation",
    "PermissionType",
    "Host",
)
COLUMNS: Final = ",".join(SECURITY_MANAGER)
"""The columns of a row."""

FORMULA: Final = r"^'*[=+\-@\t\r]"
"""Cells that get an apostrophe. Those that have some get one more: so reading finds each again."""

_FORMULA = re.compile(FORMULA)

KAFKA_UI = ("Principal", *SECURITY_MANAGER[1:])
_HEADERS = {frozenset(SECURITY_MANAGER), frozenset(KAFKA_UI)}
_PRINCIPAL = (SECURITY_MANAGER[0], KAFKA_UI[0])
_NAMES = frozenset((*SECURITY_MANAGER, *KAFKA_UI))


def is_table(text: str) -> bool:
    """Return whether the first line of a text has columns of a table."""
    first, _, _ = text.partition("\n")
    return not {cell.strip('" \r') for cell in first.split(",")}.isdisjoint(_NAMES)


def read(text: str) -> AclSet:
    """Return the set of a table, its bindings in the table's order. Empty lines are skipped."""
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    bindings: list[AclBinding] = []
    lines: list[Path] = []
    header: list[str] | None = None
    try:
        for row in rows:
            if not row:
                continue
            if header is None:
                header = _header(row, rows.line_num)
            else:
                bindings.append(_binding(header, row, rows.line_num))
                lines.append((rows.line_num,))
    except csv.Error as error:
        raise FormatError(f"not CSV: {error}", rows.line_num) from None
    if header is None:
        raise FormatError(f"no header; expected: {COLUMNS}")
    return AclSet(bindings, tuple(lines), line_of=line_in_path)


def write(bindings: Iterable[AclBinding], header: tuple[str, ...] = SECURITY_MANAGER) -> str:
    """Return bindings as a table; lines end with CR LF, as in RFC 4180."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(header)
    for binding in bindings:
        rows.writerow(cells_of(binding))
    return text.getvalue()


def row_of(binding: AclBinding) -> str:
    """Return a binding as one row without the end of the line: ``binding_of_row`` reads it."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(cells_of(binding))
    return text.getvalue()


def binding_of_row(text: str) -> AclBinding:
    try:
        bindings = read(f"{COLUMNS}\n{text}").bindings
    except FormatError as error:
        # The number of the line would count the heading, which the user did not type.
        reason = str(error).removeprefix(f"line {error.line}: ")
        raise FormatError(f"{reason}; the columns are {COLUMNS}") from None
    if len(bindings) != 1:
        raise FormatError(f"found {len(bindings)} rows; expected: one row: {COLUMNS}")
    return bindings[0]


def cells_of(binding: AclBinding) -> tuple[str, ...]:
    """Return a binding's row: a cell for each column of ``SECURITY_MANAGER``."""
    (resource_type, name, pattern_type), entry = binding
    return (
        _escaped(entry.principal),
        resource_type.name,
        pattern_type.name,
        _escaped(name),
        entry.operation.name,
        entry.permission_type.name,
        _escaped(entry.host),
    )


def _escaped(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _unescaped(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _header(row: list[str], line: int) -> list[str]:
    names = [cell.strip() for cell in row]
    if frozenset(names) not in _HEADERS or len(set(names)) < len(names):
        raise FormatError(
            f"header: found {','.join(names)}; expected: {COLUMNS}, or"
            f" {KAFKA_UI[0]} for {SECURITY_MANAGER[0]}",
            line,
        )
    return names


def _binding(header: list[str], row: list[str], line: int) -> AclBinding:
    if len(row) > len(header) and tuple(header) == KAFKA_UI:
        row = _joined(row)
    if len(row) != len(header):
        raise FormatError(f"found {len(row)} fields; expected: {len(header)}", line)
    cells = dict(zip(header, map(_unescaped, row), strict=True))
    try:
        return binding_of(
            resource=cells["ResourceType"],
            name=cells["ResourceName"],
            pattern=cells["PatternType"],
            principal=next(cells[column] for column in _PRINCIPAL if column in cells),
            host=cells["Host"],
            does=cells["Operation"],
            permission=cells["PermissionType"],
        )
    except FormatError as error:
        raise FormatError(str(error), line) from None


def _joined(row: list[str]) -> list[str]:
    """Return a row of kafka-ui with the parts of its principal and its name joined.

    The resource type and the pattern type stand between them. Where they could stand at several
    places, the row is returned as it is, which has too many cells.
    """
    places = [
        index
        for index in range(1, len(row) - 5)
        if row[index] in ResourceType.__members__ and row[index + 1] in PatternType.__members__
    ]
    if len(places) != 1:
        return row
    [start] = places
    principal, name = ",".join(row[:start]), ",".join(row[start + 2 : -3])
    return [principal, *row[start : start + 2], name, *row[-3:]]
