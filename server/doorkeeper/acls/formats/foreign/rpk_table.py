"""The text of ``rpk security acl list``: columns of equal width, under their names.

    PRINCIPAL  HOST  RESOURCE-TYPE  RESOURCE-NAME  RESOURCE-PATTERN-TYPE  OPERATION  PERMISSION
    User:app   *     TOPIC          orders         LITERAL                READ       ALLOW

With ``-f`` a table of filters stands before that of the matches.

Source: ``printDescribedACLs`` of rpk, whose columns Go's tabwriter aligns by characters.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.formats.documents import line_in_path
from doorkeeper.acls.formats.foreign.json_rows import SCHEMA_REGISTRY
from doorkeeper.acls.formats.foreign.rows import Rows
from doorkeeper.acls.formats.names import FormatError

if TYPE_CHECKING:
    from doorkeeper.acls.formats.acl_set import AclSet

_COLUMNS: Final = {
    "PRINCIPAL": "principal",
    "HOST": "host",
    "RESOURCE-TYPE": "resource",
    "RESOURCE-NAME": "name",
    "RESOURCE-PATTERN-TYPE": "pattern",
    "OPERATION": "does",
    "PERMISSION": "permission",
}
_ERROR: Final = "ERROR"
_SECTION = re.compile(r"FILTERS|MATCHES|=+")
_BEGINNING = re.compile(r"(?:FILTERS\s*=+\s*|MATCHES\s*=+\s*)?PRINCIPAL +HOST +RESOURCE-TYPE ")


def is_table(text: str) -> bool:
    """Return whether a text begins as such a table."""
    return _BEGINNING.match(text) is not None


def read(text: str) -> AclSet:
    rows = Rows(line_in_path)
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("PRINCIPAL")]
    for start, end in pairwise([*starts, len(lines)]):
        names = lines[start].split()
        if names not in ([*_COLUMNS], [*_COLUMNS, _ERROR]):
            text = f"found the columns {', '.join(names)}; expected: {', '.join(_COLUMNS)}"
            raise FormatError(text, start + 1)
        begins = [lines[start].index(name) for name in names]
        for number in range(start + 1, end):
            line = lines[number]
            if line.strip() and not _SECTION.fullmatch(line):
                row = _row(rows, line, number + 1, dict(zip(names, begins, strict=True)))
                # The matches are the last table.
                if start == starts[-1] and row["resource"] not in SCHEMA_REGISTRY:
                    rows.add((number + 1,), "row", row)
    return rows.result()


def _row(rows: Rows, line: str, number: int, begins: dict[str, int]) -> dict[str, str]:
    places = [*begins.values(), max(len(line), *begins.values())]
    cells = {
        name: line[begin:end].rstrip(" ")
        for name, (begin, end) in zip(begins, pairwise(places), strict=True)
    }
    if any(line[begin - 1 : begin] not in (" ", "") for begin in places[1:-1]):
        raise rows.error((number,), "row", "the columns are not aligned with the header")
    if error := cells.pop(_ERROR, ""):
        raise rows.error((number,), "row", f"rpk could not list all ACLs: {error}")
    return {_COLUMNS[name]: cell for name, cell in cells.items()}
