"""Many bindings as few statements: what all their rows share is given once, codes as one number.

A thousand bindings are one statement of five thousand cells, where whole rows would be four of
five thousand each. While SQLite works on it, Python's global lock is free, and the event loop
builds the state that these bindings lead to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from doorkeeper.storage.rows import beside_bindings, padded
from doorkeeper.storage.schema import LogKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.storage.contract import Change, StoredBinding
    from doorkeeper.storage.rows import Cell, Statement

MANY: Final = 64
"""From so many bindings on it is faster than whole rows."""

BINDINGS_MAX: Final = 1024
"""In one statement. apsw keeps prepared statements of up to 16 KiB of text; this has 13."""

# Of the last column of a row of cells: the item above 32 bits, and below it four codes of 8 bits.
# The cells of padding are NULL.
_STATEMENT: Final = """
INSERT INTO change_log
SELECT
    ?1, column5 >> 32, ?2, ?3, ?4, ?5, ?6, ?7,
    column1, column5 >> 24 & 255, column2, column5 >> 16 & 255,
    column3, column4, column5 >> 8 & 255, column5 & 255,
    NULL, NULL, NULL, NULL, NULL
FROM (VALUES {rows})
WHERE column5 NOT NULL
"""

_PADDING: Final = (None,) * 5


def has_many(change: Change) -> bool:
    """Say whether ``binding_statements`` is the way to write a change: it has nothing else."""
    count = len(change.bindings_added) + len(change.bindings_removed)
    return count >= MANY and next(beside_bindings(change), None) is None


def binding_statements(change: Change, revision: int, time_ms: int) -> list[Statement]:
    """Return the statements that write what a change does to bindings; see ``log_rows``."""
    made: list[Statement] = []
    item = 0
    for kind, bindings in (
        (LogKind.BINDING_DELETED, change.bindings_removed),
        (LogKind.BINDING_CREATED, change.bindings_added),
    ):
        head: tuple[Cell, ...] = (revision, kind, time_ms, *change.author)
        made += [
            _statement(head, bindings[at : at + BINDINGS_MAX], item + at)
            for at in range(0, len(bindings), BINDINGS_MAX)
        ]
        item += len(bindings)
    return made


def _statement(head: tuple[Cell, ...], bindings: Sequence[StoredBinding], item: int) -> Statement:
    cells = [*head]
    for number, (binding_id, (pattern, entry)) in enumerate(bindings, item):
        resource_type, name, pattern_type = pattern
        principal, host, operation, permission_type = entry
        codes = resource_type << 24 | pattern_type << 16 | operation << 8 | permission_type
        cells += (binding_id, name, principal, host, number << 32 | codes)
    size = padded(len(bindings))
    cells.extend(_PADDING * (size - len(bindings)))
    return _text(size), cells


@lru_cache
def _text(size: int) -> str:
    return _STATEMENT.format(rows=",".join(["(?,?,?,?,?)"] * size))
