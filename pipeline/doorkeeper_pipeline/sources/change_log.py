"""The change log of a Doorkeeper store: every binding there ever was, with its times and authors.

The database is opened to read only; a server may be writing in it. The log is pruned from its old
end, so a binding may be older than the log: its ``valid_from`` is null then.

Source: the tables of ``docs/explanation/storage.md``.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper.acls.model import AclOperation, AclPermissionType, PatternType, ResourceType
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources.json_lines import EPOCH
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

STORE_NAME = "doorkeeper.db"
SOURCE = "change-log"
APPLICATION_ID = 0x446F6F72
"""In the header of a store of Doorkeeper."""

ACL = "acl"
"""The kind of the rows that are read: the key is the binding's id, the value its seven cells."""

BUSY_MS = 5000


def read(path: Path) -> pl.DataFrame:
    """Return all bindings that the log knows, in force or not, as rows of the table bindings.

    Raises:
        Unreadable: it is no store of Doorkeeper, or damaged, or revisions are missing.

    """
    import apsw  # noqa: PLC0415  only stores need it

    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(BUSY_MS)
            if connection.pragma("application_id") != APPLICATION_ID:
                raise Unreadable(f"{path}: not a Doorkeeper store")
            connection.execute("BEGIN")  # log and items from one moment
            _check_whole(connection, path)
            rows = _intervals(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise Unreadable(f"{path}: {error}") from error
    return pl.DataFrame(rows, schema=contents.schema_of("bindings"), orient="row")


def _check_whole(connection: apsw.Connection, path: Path) -> None:
    # Of the bindings that a missing revision changed, the times are not known.
    numbers = connection.execute(
        "SELECT count(DISTINCT revision), min(revision), max(revision) FROM change_log"
    )
    for count, first, last in numbers:
        if count and count != last - first + 1:
            raise Unreadable(
                f"{path}: only {count} of the revisions {first} to {last} are in the change log;"
                " doorkeeper history verify names the missing ones"
            )


def _intervals(connection: apsw.Connection) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    in_force: dict[str, dict[str, Any]] = {}
    log = connection.execute(
        "SELECT deleted, revision, time_ms, author_principal, key, value FROM change_log"
        " WHERE kind = ? ORDER BY revision, item",
        (ACL,),
    )
    for deleted, revision, time_ms, author, key, value in log:
        at = EPOCH + dt.timedelta(milliseconds=time_ms)
        if not deleted:
            row = _row(key, value, valid_from=at, from_revision=revision, created_by=author)
            in_force[key] = row
            rows.append(row)
            continue
        ended = in_force.pop(key, None)
        if ended is None:
            ended = _row(key, value)
            rows.append(ended)
        ended.update(valid_to=at, to_revision=revision, removed_by=author)
    items = connection.execute("SELECT key, value, revision FROM item WHERE kind = ?", (ACL,))
    for key, value, revision in items:
        if key not in in_force:
            rows.append(_row(key, value, from_revision=revision))
    return rows


def _row(binding_id: str, value: str, **known: object) -> dict[str, Any]:
    cells = json.loads(value)
    resource_type, name, pattern_type, principal, host, operation, permission = cells[:7]
    return {
        "binding_id": binding_id,
        "resource_type": ResourceType(resource_type).name,
        "resource_name": name,
        "pattern_type": PatternType(pattern_type).name,
        "principal": principal,
        "host": host,
        "operation": AclOperation(operation).name,
        "permission_type": AclPermissionType(permission).name,
        "known_from": known.get("valid_from"),
        "source": SOURCE,
        **known,
    }
