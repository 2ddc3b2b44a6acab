"""A primary from before a promotion is not used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from doorkeeper.server.state.postgres.timelines import Timeline, Timelines, timeline
from doorkeeper.server.state.store import StoreReplaced
from testkit.sharing import node

if TYPE_CHECKING:
    import asyncpg

    from testkit.postgres import Database

pytestmark = pytest.mark.interop


async def test_primary_has_a_timeline(connection: asyncpg.Connection) -> None:
    found = await timeline(connection)

    assert found is not None
    assert found.number == 1


async def test_older_timeline_is_rejected(
    connection: asyncpg.Connection, database: Database
) -> None:
    found = await timeline(connection)
    assert found is not None
    async with node(database.url()) as one:
        timelines = one.store._timelines
        with capture_logs() as lines:
            for each in (found, replace(found, number=3), None, replace(found, number=3)):
                timelines.check(each)
        with pytest.raises(StoreReplaced, match=r"found timeline 1 .* expected: timeline 3"):
            await one.store._check(connection)
        assert isinstance(timelines, Timelines)
        timelines.check(Timeline(found.system + 1, 1))

    assert [(line["log_level"], line["timeline"], line["before"]) for line in lines] == [
        ("warning", 3, 1)
    ]
