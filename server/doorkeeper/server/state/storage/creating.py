"""Creation of the tables of an embedded store."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from doorkeeper.base.uuids import random_uuid
from doorkeeper.base.version import __version__
from doorkeeper.server.schema.change import NO_CHANGE, Change
from doorkeeper.server.state.storage import digest, schema
from doorkeeper.server.state.storage.rows import initial_items


def create(
    connection: apsw.Connection,
    *,
    cluster_id: str,
    salt_key: bytes,
    random_bytes: Callable[[int], bytes],
    now_ms: int,
    initial: Change = NO_CHANGE,
    triggers: bool = True,
) -> None:
    """Create the tables of a new store in one transaction, with the rows of ``initial``.

    These rows are of revision 0, before the change log. Without ``triggers`` each table can be
    written directly; the caller creates them afterwards.
    """
    with connection:
        connection.execute(schema.TABLES + (schema.TRIGGERS if triggers else ""))
        connection.pragma("application_id", schema.APPLICATION_ID)
        for key, value in (
            ("cluster_id", cluster_id),
            ("store_id", random_uuid(random_bytes)),
            ("salt_key", salt_key.hex()),
            ("schema_version", schema.VERSION),
            ("created_by", __version__),
            ("created_ms", now_ms),
        ):
            schema.set_meta(connection, key, value)
        # Not through the change log: the first change of a client is revision 1.
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, 0)", initial_items(initial))
        connection.execute("INSERT INTO base SELECT kind, key, value, revision FROM item")
        schema.set_base(connection, 0, "", now_ms)
        digest.write_anew(connection)
