"""Where a node stands in the log of the shared store, and how it goes on from there.

Revisions are committed in order and without a gap, so following is counting: the next one is ours
plus one, or the log has been pruned, or the database is another one, and the whole state is read.

For whoever has the node's turn: following, and planning until the commit, exclude each other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from doorkeeper.storage.postgres.rows import maker_of, read_log
from doorkeeper.storage.postgres.state import read_state

if TYPE_CHECKING:
    from uuid import UUID

    import asyncpg

    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.storage.contract import Participant

LOG_ROWS: Final = 2_000
"""Rows of the log that are read and followed at once; the loop turns in between."""


class Position:
    """The newest revision that a node has, and those whose state is at it."""

    def __init__(self, revision: int, made_by: UUID | None, *, name: str, log: Logger) -> None:
        """Begin at the revision of a state that was read, and the batch that made it."""
        self.revision = revision
        self.participants: list[Participant] = []
        self.is_distrusted = False
        """True where what was followed may be half in the state: everything is read again."""
        self._made_by = made_by
        self._name = name
        self._log = log

    def rewind(self) -> None:
        """Have all plans forgotten."""
        for participant in self.participants:
            participant.rewind()

    async def follow(self, connection: asyncpg.Connection, newest: int) -> bool:
        """Follow the log up to a revision; False where it does not lead from ours to there."""
        if self.is_distrusted:
            return False
        while self.revision < newest:
            logged = await read_log(connection, self.revision, LOG_ROWS)
            if not logged or logged[0].revision != self.revision + 1:
                return False
            for each in logged:
                for participant in self.participants:
                    participant.follow(each.change)
                self.now_at(each.revision, each.batch)
            newest = max(newest, self.revision)
            await asyncio.sleep(0)
        return self.revision == newest

    def now_at(self, revision: int, batch: UUID | None) -> None:
        """Note that the state is at a revision, and which batch made it; None: it was copied."""
        self.revision, self._made_by = revision, batch

    async def check_past(self, connection: asyncpg.Connection) -> None:
        """Read everything again where the database does not know how we came to our revision."""
        if self.revision == 0 or self.is_distrusted:
            return
        if await maker_of(connection, self.revision) != (self._made_by,):
            self._log.error(
                "the store does not know our newest revision: everything is read again",
                store=self._name,
                revision=self.revision,
            )
            await self.reload(connection)

    async def reload(self, connection: asyncpg.Connection) -> None:
        """Take the whole state: the log was pruned beyond us, or the database is another one."""
        state = await read_state(connection)
        self._log.warning(
            "everything was read again", store=self._name, before=self.revision, now=state.revision
        )
        self.rewind()
        for participant in self.participants:
            await participant.reload(state)
        self.now_at(state.revision, state.made_by)
        self.is_distrusted = False
