"""Write changes to the change log and commit them: few statements, one durable transaction.

Triggers of the schema apply each row of the log to the items, in the same transaction.

Small changes of a batch share one statement with complete rows. A change of many rows passes the
common cells once for each statement, so a thousand ACLs are one statement of four thousand cells.
While SQLite executes it without Python's global lock, the event loop applies the same change to its
state.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from doorkeeper.kinds.change import Change
    from doorkeeper.state.store import LogEntry

Cell = str | int | None
Statement = tuple[str, list[Cell]]
"""SQL and the values of its parameters."""

MANY: Final = 64
"""Number of rows from which a change is written with common cells."""

# Longer statements would be prepared on each use: apsw caches texts of up to 16 KiB. The longest
# here have 13 and 10 KiB.
ROWS_MAX: Final = 512
SHARED_ROWS_MAX: Final = 1024

_COLUMNS: Final = 12
_WHOLE: Final = "INSERT INTO change_log SELECT * FROM (VALUES {rows}) WHERE column1 NOT NULL"
_SHARED: Final = """
INSERT INTO change_log
SELECT ?1, column4, ?2, column1, column2, column3, ?3, ?4, ?5, ?6, ?7, ?8
FROM (VALUES {rows}) WHERE column4 NOT NULL
"""


def initial_items(change: Change) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield the rows of a new store: kind, key, value, secret."""
    for kind, edit in change.items():
        for row in edit.set:
            yield kind.name, *kind.encode(row)


def log_statements(entries: Sequence[LogEntry], time_ms: int) -> list[Statement]:
    """Return the statements that write revisions; deletions of a kind come first."""
    made: list[Statement] = []
    cells: list[Cell] = []
    for revision, author, change in entries:
        count = 0
        for set_, removed in change.values():
            count += len(set_) + len(removed)
        is_large = count >= MANY
        if cells and (is_large or len(cells) >= ROWS_MAX // 2 * _COLUMNS):
            made.append(_statement(_WHOLE, _COLUMNS, cells))
            cells = []
        item = 0
        for kind, edit in change.items():
            name, encode = kind.name, kind.codec.encode
            # Deletions first: a key may be deleted and set again in one change.
            for deleted, rows in ((1, edit.deleted), (0, edit.set)):
                if is_large and rows:
                    head = (revision, name, deleted, time_ms, *author)
                    made += _large_statements(head, encode, rows, item)
                    item += len(rows)
                    continue
                for row in rows:
                    key, value, secret = encode(row)
                    if deleted:
                        secret = None
                    cells += (revision, item, name, key, value, secret, deleted, time_ms, *author)
                    item += 1
    if cells:
        made.append(_statement(_WHOLE, _COLUMNS, cells))
    return made


def _large_statements(
    head: tuple[Cell, ...],
    encode: Any,  # noqa: ANN401 - of a kind's codec
    rows: tuple[Any, ...],
    item: int,
) -> list[Statement]:
    """Return the statements for rows of one kind, all set or all deleted."""
    made: list[Statement] = []
    deleted = head[2]
    for at in range(0, len(rows), SHARED_ROWS_MAX):
        cells: list[Cell] = []
        for number, row in enumerate(rows[at : at + SHARED_ROWS_MAX], item + at):
            key, value, secret = encode(row)
            cells += (key, value, None if deleted else secret, number)
        text, cells = _statement(_SHARED, 4, cells)
        made.append((text, [*head, *cells]))
    return made


def _statement(text: str, columns: int, cells: list[Cell]) -> Statement:
    """Pad the rows to a power of two, so that few prepared statements serve all numbers of rows."""
    rows = len(cells) // columns
    size = 1 << (rows - 1).bit_length()
    cells.extend([None] * ((size - rows) * columns))
    return _text(text, columns, size), cells


@lru_cache
def _text(text: str, columns: int, size: int) -> str:
    row = f"({','.join('?' * columns)})"
    return text.format(rows=",".join([row] * size))


def execute(connection: apsw.Connection, statements: list[Statement]) -> None:
    """Execute one or more statements in one transaction, durable on return."""
    # A single statement is a transaction of its own, and fewer calls are fewer waits: each may take
    # up to 5 ms for Python's global lock (decision 0030).
    if len(statements) == 1:
        connection.execute(*statements[0])
        return
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(*statement)
    connection.execute("COMMIT")
