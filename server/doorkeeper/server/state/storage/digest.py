"""The digest of the state: by which a store notices that its rows are not those that it wrote.

The digest of a row is a hash of its kind, key, value and secret. That of the state is the sum of
those of all rows, modulo 2^128: it does not depend on their order, and a change adds the digests of
the rows that it sets and subtracts those of the rows that it replaces or deletes. The first row of
each revision in the log has the digest of the state after it, written in the transaction of the
change; whoever loads the rows adds them up again. A difference means that rows were removed,
planted or replaced past the log: a restore of some tables, a statement by hand, a faulty disk. It
is no protection from somebody who may write to the database and wants to deceive, who can compute
the sum too.

Sums of the shared store are made of other hashes, in the database: see ``postgres.digest``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.rows import digest_text, row_digest
from doorkeeper.server.state.store import StateDiffers

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

WHAT_TO_DO: Final = (
    "find the rows with doorkeeper store check; restore a backup, or accept the rows as they are"
    " (doorkeeper store accept)"
)


def digest_of(connection: apsw.Connection) -> str:
    """Add up the rows; about 2 µs each."""
    rows = connection.execute("SELECT kind, key, value, secret FROM item")
    return digest_text(sum(row_digest(*row) for row in rows))


def finding(connection: apsw.Connection) -> str | None:
    """Return how the rows differ from the digest of the newest revision; None if they do not.

    The caller has a transaction, or is alone.
    """
    revision, expected = schema.last_revision(connection), schema.last_digest(connection)
    actual = digest_of(connection)
    if actual == expected:
        return None
    return f"the rows do not match revision {revision}: found digest {actual}, expected {expected}"


def check(connection: apsw.Connection, path: Path) -> None:
    """Reject a store whose rows differ from the digest."""
    difference = finding(connection)
    if difference is not None:
        raise StateDiffers(f"{path}: {difference}: {WHAT_TO_DO}")


def write_anew(connection: apsw.Connection) -> None:
    """Write the digest of the rows as they are, in the caller's transaction."""
    schema.set_last_digest(connection, digest_of(connection))
