"""Promotions of standbys: a node that has used a promoted one refuses the primary from before.

Each promotion begins a timeline with the next number; copies of one database have one system
identifier. Two copies that both accept writes at the same time are noticed by a node that has
connected to both, and by no other: nodes meet in the database alone. To prevent it (*fencing*) is
the task of whoever promotes.
"""

from __future__ import annotations

from typing import Final

import asyncpg
from msgspec import Struct

from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.store import StoreReplaced

# Not that of the last checkpoint, which a promotion does not wait for.
_TIMELINE: Final = """
SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
FROM pg_control_system()
"""


class Timeline(Struct, frozen=True):
    """A system identifier, and the number of a timeline of that system."""

    system: int
    number: int


async def timeline(connection: asyncpg.Connection) -> Timeline | None:
    """Return the timeline of a primary; None where the service does not show it."""
    try:
        return Timeline(*await connection.fetchrow(_TIMELINE))
    except (asyncpg.UndefinedFunctionError, asyncpg.InsufficientPrivilegeError):
        return None


class Timelines:
    """The newest timeline that a node has used."""

    def __init__(self, log: Logger, name: str) -> None:
        """``name`` is that of the store in the log."""
        self._log = log
        self._name = name
        self._newest: Timeline | None = None

    def check(self, current: Timeline | None) -> None:
        """Reject an older timeline of the system; log the change to a newer one."""
        newest = self._newest
        if current is None:
            return
        if newest is not None and newest.system == current.system:
            if current.number < newest.number:
                raise StoreReplaced(
                    f"found timeline {current.number} of the database: this is an old primary;"
                    f" expected: timeline {newest.number} or later, which this node has used"
                )
            if current.number > newest.number:
                self._log.warning(
                    "the database was promoted; make sure that the old primary accepts no writes,"
                    " because other nodes may be connected to it",
                    store=self._name,
                    timeline=current.number,
                    before=newest.number,
                )
        self._newest = current
