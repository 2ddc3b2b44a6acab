"""Write changes to the change log and commit them: few statements, one durable transaction.

Triggers of the schema apply each row of the log to the items, in the same transaction.

Small changes of a batch share one statement with complete rows. A change of many rows passes the
common cells once for each statement, so a thousand ACLs are one statement of four thousand cells.
While SQLite executes it without Python's global lock, the event loop applies the change.

Each revision has a hash of itself and of its predecessor's: SHA-256, in hexadecimal, of a text of
cells in UTF-8:

 the hash of the revision before, empty for the first one
 revision, time_ms, and the author: principal, host, listener, client id, software, correlation id
 for each row in the order of its items: kind, key, value, deleted (0 or 1)

A cell is its length in characters, a colon and its text; a null is "-". Keys and authors are
escaped as in the shared store, whose trigger computes the same text: a copy keeps its hashes.
Node and batch are not part of it, because the embedded store does not have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from itertools import chain, repeat, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.slices import SLICE_ITEMS, Slices
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.kind import Item
from doorkeeper.server.state.storage.cells import MARK, encode

if TYPE_CHECKING:
    import apsw

    from doorkeeper.server.schema.change import Author, Change
    from doorkeeper.server.state.store import LogEntry

Cell = str | int | None
Key = tuple[str, str]
"""A kind and a key."""
Statement = tuple[str, list[Cell]]
"""SQL and the values of its parameters."""

MANY: Final = 64
"""Number of rows from which a change is written with common cells."""

# Longer statements would be prepared on each use: apsw caches texts of up to 16 KiB. The longest
# here have 15 and 10 KiB.
ROWS_MAX: Final = 480
ROWS_FULL: Final = 256
"""Number of rows that closes a statement; the last change may exceed it by ``MANY``."""
SHARED_ROWS_MAX: Final = 1024

_COLUMNS: Final = 16
_WHOLE: Final = "INSERT INTO change_log SELECT * FROM (VALUES {rows}) WHERE column1 NOT NULL"
_SHARED: Final = """
INSERT INTO change_log
SELECT ?1, column4, ?2, column1, column2, column3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
       CASE column4 WHEN 0 THEN ?11 END, CASE column4 WHEN 0 THEN ?12 END
FROM (VALUES {rows}) WHERE column4 NOT NULL
"""


_SHARED_DIGEST: Final = 11
"""Where the cell of the digest is in a statement with common cells."""

_CURRENT: Final = """
WITH gone (kind, key) AS (VALUES {rows})
SELECT item.kind, item.key, value, secret FROM gone
CROSS JOIN item ON item.kind = gone.kind AND item.key = gone.key
"""


class RevisionDigest(NamedTuple):
    """What is needed for the digest of a revision, and the cell for it: ``cells[at]``.

    ``gone`` has the keys of the rows that the revision deletes or may replace, ``added`` is the sum
    of the digests of those that it sets.
    """

    gone: list[Key]
    added: int
    runs: list[Run]
    cells: list[Cell]
    at: int


class LogWrite(Struct, frozen=True):
    """The statements that write revisions, and the hashes before the first and of the last one."""

    statements: list[Statement]
    previous: str
    hash: str
    revisions: int
    last: int
    """The number of the last revision."""
    digests: list[RevisionDigest]


Run = tuple[str, int, Sequence[Item]]
"""Rows of a revision that follow each other: the kind, 1 if they were deleted else 0, and their
keys, values and secrets."""


def initial_items(change: Change) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield the rows of a new store: kind, key, value, secret."""
    for kind, edit in change.items():
        for row in edit.set:
            yield kind.name, *kind.encode(row)


def log_statements(entries: Sequence[LogEntry], time_ms: int, previous: str) -> Slices[LogWrite]:
    """Make the statements that write revisions; deletions of a kind come first.

    ``previous`` is the hash of the revision before them.
    """
    statements: list[Statement] = []
    cells: list[Cell] = []
    digests: list[RevisionDigest] = []
    before = previous
    for revision, author, change in entries:
        runs: list[Run] = []
        digest = sha256(_head_of_hash(previous, revision, time_ms, author))
        count = 0
        gone: list[Key] = []
        added = 0
        for kind, edit in change.items():
            encode_row = kind.codec.encode
            # Deletions first, as in ``Edit.parts``.
            for deleted, rows in ((1, edit.deleted), (0, edit.set)):
                for at in range(0, len(rows), SHARED_ROWS_MAX):
                    items = list(map(encode_row, rows[at : at + SHARED_ROWS_MAX]))
                    runs.append((kind.name, deleted, items))
                    digest.update(_run_in_hash(kind.name, deleted, items))
                    # An ACL is never replaced.
                    replaces = deleted or kind is not ACL
                    gone += [(kind.name, item.key) for item in items] if replaces else ()
                    added += 0 if deleted else sum(starmap(partial(row_digest, kind.name), items))
                    count += len(items)
                    # Small changes are encoded at once: a pause costs a turn of the event loop.
                    if count > SLICE_ITEMS:
                        yield
        previous = digest.hexdigest()
        # Below, the common cells of a statement of its own cost more than they save.
        is_large = count >= MANY
        if cells and (is_large or len(cells) >= ROWS_FULL * _COLUMNS):
            statements.append(_padded(_WHOLE, _COLUMNS, cells, ROWS_MAX))
            cells = []
        tail: tuple[Cell, ...] = (time_ms, *author, previous)
        if is_large:
            at = len(statements)
            yield from _add_large(statements, revision, tail, runs)
            digests.append(RevisionDigest(gone, added, runs, statements[at][1], _SHARED_DIGEST))
        else:
            digests.append(RevisionDigest(gone, added, runs, cells, len(cells) + _COLUMNS - 1))
            _add_small(cells, revision, tail, runs)
    if cells:
        statements.append(_padded(_WHOLE, _COLUMNS, cells, ROWS_MAX))
    return LogWrite(statements, before, previous, len(entries), entries[-1].revision, digests)


def _add_small(
    cells: list[Cell], revision: int, tail: tuple[Cell, ...], runs: Sequence[Run]
) -> None:
    """Add the cells of a revision's complete rows; ``tail`` ends with the hash."""
    *rest, hash_ = tail
    item = 0
    for name, deleted, items in runs:
        for key, value, secret in items:
            shown = None if deleted else secret
            cells += (revision, item, name, key, value, shown, deleted, *rest, hash_, None)
            hash_ = None  # the first row has it
            item += 1


def _add_large(
    statements: list[Statement], revision: int, tail: tuple[Cell, ...], runs: Sequence[Run]
) -> Slices[None]:
    """Add the statements for a revision of many rows, one for each run."""
    first = 0
    for name, deleted, items in runs:
        cells: list[Cell] = []
        for item, (key, value, secret) in enumerate(items, first):
            cells += (key, value, None if deleted else secret, item)
        first += len(items)
        common = [revision, name, deleted, *tail, None]
        sql, cells = _padded(_SHARED, 4, cells, SHARED_ROWS_MAX)
        statements.append((sql, common + cells))
        yield


# --- digests


DIGEST_BYTES: Final = 16

_GONE: Final = attrgetter("gone")


def row_digest(kind: str, key: str, value: str, secret: str | None) -> int:
    """Return the digest of a row, of which ``storage.digest`` makes that of the state."""
    text = f"{kind} {len(key)}:{key}{value}" + ("" if secret is None else f" {secret}")
    # The database refuses lone surrogates, with an error that names the store.
    hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
    return int.from_bytes(hashed.digest())


def digest_text(digest: int) -> str:
    """Return a sum of digests as the log keeps it: modulo 2^128."""
    return f"{digest % (1 << 8 * DIGEST_BYTES):032x}"


def fill_digests(connection: apsw.Connection, write: LogWrite, digest: int) -> int:
    """Write the digest of each revision into its statement; return that of the last one.

    ``digest`` is that of the state in the database, from which rows to delete or replace are read.
    """
    keys = list(chain.from_iterable(map(_GONE, write.digests)))
    rows: dict[Key, int] = {}
    for at in range(0, len(keys), SHARED_ROWS_MAX):
        cells: list[Cell] = list(chain.from_iterable(keys[at : at + SHARED_ROWS_MAX]))
        for row in connection.execute(*_padded(_CURRENT, 2, cells, SHARED_ROWS_MAX)):
            rows[row[0], row[1]] = row_digest(*row)
    for gone, added, runs, cells, at in write.digests:
        digest += added - sum(map(rows.pop, gone, repeat(0)))
        cells[at] = digest_text(digest)
        if keys and len(write.digests) > 1:  # a later revision may delete what this one sets
            for kind, deleted, items in runs:
                if not deleted:
                    rows.update(((kind, row[0]), row_digest(kind, *row)) for row in items)
    return digest


# --- hashes


def revision_hash(
    previous: str,
    revision: int,
    time_ms: int,
    author: Author,
    runs: Iterable[tuple[str, int, Sequence[Item]]],
) -> str:
    """Return the hash of a revision behind one with the hash ``previous``."""
    digest = sha256(_head_of_hash(previous, revision, time_ms, author))
    for kind, deleted, items in runs:
        digest.update(_run_in_hash(kind, deleted, items))
    return digest.hexdigest()


def _head_of_hash(previous: str, revision: int, time_ms: int, author: Author) -> bytes:
    parts = [previous]
    for cell in (revision, time_ms, *author):
        if cell is None:
            parts.append("-")
            continue
        text = str(cell)
        if MARK in text or "\0" in text:
            text = encode(text)
        parts.append(f"{len(text)}:{text}")
    # The database refuses lone surrogates, with an error that names the store.
    return "".join(parts).encode("utf-8", "surrogatepass")


def _run_in_hash(kind: str, deleted: int, items: Sequence[Item]) -> bytes:
    head, end = f"{len(kind)}:{kind}", f"1:{deleted}"
    parts: list[str] = []
    for key, value, _ in items:
        name = encode(key) if MARK in key or "\0" in key else key
        parts.append(f"{head}{len(name)}:{name}{len(value)}:{value}{end}")
    return "".join(parts).encode("utf-8", "surrogatepass")


def _padded(text: str, columns: int, cells: list[Cell], rows_max: int) -> Statement:
    """Return the SQL for some cells, and the same list of cells.

    The rows are padded to a power of two, so that few prepared statements serve all numbers.
    """
    rows = len(cells) // columns
    size = min(1 << (rows - 1).bit_length(), rows_max)
    cells += [None] * ((size - rows) * columns)
    return _text(text, columns, size), cells


@lru_cache
def _text(text: str, columns: int, size: int) -> str:
    row = f"({','.join('?' * columns)})"
    return text.format(rows=",".join([row] * size))
