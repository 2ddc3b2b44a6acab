"""Schema version 4: the digest of the state, next to the newest revision. See ``storage.digest``.

``head.digest`` is null in a store whose rows were not those of its log when it was migrated. The
trigger ``carry`` updates it, so nodes of older versions do too. The digest of a row are 124 bits of
a SHA-256.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.kinds.declared import CREDENTIAL
from doorkeeper.state.store import StateDiffers
from doorkeeper.storage.digest import WHAT_TO_DO
from doorkeeper.storage.postgres.schema import ROW_HASH, SUM_OF_HASHES, carry

if TYPE_CHECKING:
    import asyncpg

_ALL_ROWS_S: Final = 60.0
"""Time-out of a statement that reads all rows."""

_MODULUS: Final = 1 << 124

# A single expression, so that the planner puts it in the place of the call: a call of a function in
# SQL costs several times as much as the hash. OFFSET 0 makes it compute each hash once.
_FUNCTIONS: Final = f"""
ALTER TABLE doorkeeper.head ADD COLUMN digest numeric;

CREATE FUNCTION doorkeeper.row_hash(kind text, key text, value text, secret text)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(
        kind || ' ' || length(key)::text || ':' || key || value || coalesce(' ' || secret, ''),
        'UTF8')), 'hex')
$$;

CREATE FUNCTION doorkeeper.modulo(digest numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT mod(mod(digest, {_MODULUS}) + {_MODULUS}, {_MODULUS})
$$;

CREATE FUNCTION doorkeeper.digest() RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT doorkeeper.modulo({SUM_OF_HASHES})
    FROM (SELECT {ROW_HASH} AS hash FROM doorkeeper.item OFFSET 0) AS hashes
$$;
"""  # noqa: S608 - ours

# The log of version 1 did not keep the values of credentials.
_LOGGED: Final = f"CASE WHEN kind <> '{CREDENTIAL.name}' THEN value END AS value"

# As ``storage.digest`` does for the embedded store.
_FIRST: Final = f"""
DO $$
DECLARE
    base      bigint := (SELECT value::bigint FROM doorkeeper.meta WHERE key = 'base_revision');
    is_logged boolean;
BEGIN
    WITH latest AS (
        SELECT DISTINCT ON (kind, key) kind, key, value, revision, deleted FROM doorkeeper.log
        WHERE revision > base ORDER BY kind, key, revision DESC, item DESC
    ), logged AS (
        SELECT kind, key, {_LOGGED}, revision FROM latest WHERE NOT deleted
        UNION ALL
        SELECT kind, key, {_LOGGED}, revision FROM doorkeeper.base
        WHERE NOT EXISTS (
            SELECT FROM latest WHERE latest.kind = base.kind AND latest.key = base.key)
    ), stored AS (
        SELECT kind, key, {_LOGGED}, revision FROM doorkeeper.item
    )
    SELECT NOT EXISTS (SELECT * FROM logged EXCEPT SELECT * FROM stored)
        AND NOT EXISTS (SELECT * FROM stored EXCEPT SELECT * FROM logged)
    INTO is_logged;
    IF is_logged THEN
        UPDATE doorkeeper.head SET digest = doorkeeper.digest();
    END IF;
END
$$;
"""  # noqa: S608 - ours

EXPAND: Final = (
    "LOCK TABLE doorkeeper.head IN EXCLUSIVE MODE;\n" + _FUNCTIONS + carry(digest=True) + _FIRST
)
"""From version 3 to version 4, under running nodes of versions 2 and 3."""


async def finding(connection: asyncpg.Connection) -> str | None:
    """Return how the rows differ from the digest; None if they do not. Some µs for each row."""
    row = await connection.fetchrow(
        "SELECT revision, digest, doorkeeper.digest() AS found FROM doorkeeper.head",
        timeout=_ALL_ROWS_S,
    )
    if row is None:
        return "the table head is empty"
    revision, expected, found = row
    if found == expected:
        return None
    if expected is None:
        return f"revision {revision} has no digest: its rows were not those of the log"
    return (
        f"the rows are not those of revision {revision}:"
        f" digest {int(found):031x}, expected {int(expected):031x}"
    )


async def check(connection: asyncpg.Connection) -> None:
    """Reject a store whose rows differ from the digest.

    Raises:
        StateDiffers: they do; with the remedies.

    """
    found = await finding(connection)
    if found is not None:
        raise StateDiffers(f"{found}: {WHAT_TO_DO}")


async def write_anew(connection: asyncpg.Connection) -> None:
    """Write the digest of the rows as they are, in a transaction that locks the head."""
    async with connection.transaction():
        await connection.execute("SELECT FROM doorkeeper.head FOR UPDATE")
        await connection.execute(
            "UPDATE doorkeeper.head SET digest = doorkeeper.digest()", timeout=_ALL_ROWS_S
        )
