"""A primary from before a promotion is not used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
from structlog.testing import capture_logs

from doorkeeper.server.state.store import StoreReplaced
from testkit.sharing import node

if TYPE_CHECKING:
    from testkit.postgres import Database

pytestmark = pytest.mark.interop


class Primary:
    """A primary with a timeline of a system; None for one that does not show it."""

    def __init__(self, timeline: tuple[int, int] | None) -> None:
        self._timeline = timeline

    async def fetchrow(self, _query: str) -> tuple[int, int]:
        if self._timeline is None:
            raise asyncpg.InsufficientPrivilegeError
        return self._timeline


async def test_older_timeline_is_rejected(
    connection: asyncpg.Connection, database: Database
) -> None:
    async with node(database.url()) as one:
        await one.store._check(connection)
        timelines = one.store._timelines
        assert timelines._newest is not None
        system, number = timelines._newest
        assert number == 1
        with capture_logs() as lines:
            for each in ((system, 1), (system, 3), None, (system, 3)):
                await timelines.check(Primary(each))
        with pytest.raises(StoreReplaced, match=r"found timeline 1 .* expected: timeline 3"):
            await one.store._check(connection)
        await timelines.check(Primary((system + 1, 1)))

    assert [(line["log_level"], line["timeline"], line["before"]) for line in lines] == [
        ("warning", 3, 1)
    ]
