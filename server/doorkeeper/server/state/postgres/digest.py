"""The digest of the state, next to the newest revision. See ``storage.digest``.

The trigger ``carry`` updates it.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from doorkeeper.server.state.storage.digest import WHAT_TO_DO
from doorkeeper.server.state.store import StateDiffers

_ALL_ROWS_S: Final = 60.0
"""Time-out of a statement that reads all rows."""


async def finding(connection: asyncpg.Connection) -> str | None:
    """Return how the rows differ from the digest; None if they do not. Some µs for each row."""
    row = await connection.fetchrow(
        "SELECT revision, digest, doorkeeper.digest() AS found FROM doorkeeper.head",
        timeout=_ALL_ROWS_S,
    )
    if row is None:
        return "the table head is empty"
    revision, expected, actual = row
    if actual == expected:
        return None
    return (
        f"the rows do not match revision {revision}: found digest {int(actual):031x}, expected"
        f" {int(expected):031x}"
    )


async def check(connection: asyncpg.Connection) -> None:
    """Reject a store whose rows differ from the digest."""
    difference = await finding(connection)
    if difference is not None:
        raise StateDiffers(f"{difference}: {WHAT_TO_DO}")


async def write_anew(connection: asyncpg.Connection) -> None:
    """Write the digest of the rows as they are, in a transaction that locks the head."""
    async with connection.transaction():
        await connection.execute("SELECT FROM doorkeeper.head FOR UPDATE")
        await connection.execute(
            "UPDATE doorkeeper.head SET digest = doorkeeper.digest()", timeout=_ALL_ROWS_S
        )
