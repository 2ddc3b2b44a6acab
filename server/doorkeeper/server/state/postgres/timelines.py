"""Promotions of standbys: a node that has used a promoted one refuses the primary from before.

Each promotion begins a timeline with the next number; copies of one database have one system
identifier. Two copies that both accept writes at the same time are noticed by a node that has
connected to both, and by no other: nodes meet in the database alone. To prevent it (*fencing*) is
the task of whoever promotes.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.state.store import StoreReplaced

# Not that of the last checkpoint, which a promotion does not wait for.
_TIMELINE: Final = """
SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
FROM pg_control_system()
"""


class Timelines:
    """The newest timeline that a node has used."""

    def __init__(self, log: Logger, name: str) -> None:
        """``name`` is that of the store in the log."""
        self._log = log
        self._name = name
        self._newest: tuple[int, int] | None = None
        """A system identifier, and the number of a timeline of that system."""

    async def check(self, connection: asyncpg.Connection) -> None:
        """Reject an older timeline of the system; log the change to a newer one."""
        try:
            system, number = await connection.fetchrow(_TIMELINE)
        except (asyncpg.UndefinedFunctionError, asyncpg.InsufficientPrivilegeError):
            return  # the service does not show it
        known_system, newest = self._newest or (system, number)
        if known_system == system:
            if number < newest:
                raise StoreReplaced(
                    f"found timeline {number} of the database: this is an old primary;"
                    f" expected: timeline {newest} or later, which this node has used"
                )
            if number > newest:
                self._log.warning(
                    "the database was promoted; make sure that the old primary accepts no writes,"
                    " because other nodes may be connected to it",
                    store=self._name,
                    timeline=number,
                    before=newest,
                )
        self._newest = system, number
