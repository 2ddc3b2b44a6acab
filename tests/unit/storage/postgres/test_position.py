"""Where a node stands in the log, and when it must read everything again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from testkit.acl import READ, allow, topic
from testkit.edge import PATIENCE_S
from testkit.sharing import node
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

A, B, C = (allow("alice", READ, topic(name)) for name in "abc")


async def test_a_pruned_log_is_no_obstacle(database: Database) -> None:
    """A node that was away for longer than the log reaches reads everything again."""
    with TcpProxy(database.server.port) as proxy:
        behind = database.url(port=proxy.port)
        async with node(database.url(), 1) as one, node(behind, 2) as two:
            await one.create(A)
            await two.reaches(1)
            proxy.cut()
            for name in "bcdef":
                await one.create(allow("alice", READ, topic(name)))
            database.execute("DELETE FROM doorkeeper.change_log WHERE revision < 6")
            proxy.heal()

            await two.reaches(6)
            assert two.seen() == one.seen()


async def test_a_database_that_went_back_is_read_again(database: Database) -> None:
    """A standby that had less became the primary and was written to: revisions are others."""
    async with node(database.url(), 1) as one:
        await one.create(A)
        await one.create(B)
        database.execute(
            "DELETE FROM doorkeeper.acl; DELETE FROM doorkeeper.change_log;"
            " UPDATE doorkeeper.head SET revision = 0"
        )
        database.terminate_backends()
        async with node(database.url(), 2) as two:
            await two.create(C)
            await two.create(allow("bob", READ, topic("d")))
            async with asyncio.timeout(PATIENCE_S):
                while one.seen() != two.seen():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            assert await one.create(A) is None
            await two.reaches(3)
            assert one.seen() == two.seen()


async def test_nothing_is_planned_on_a_past_that_the_database_never_had(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who writes looks first, where the follower has not yet come back."""
    async with node(database.url(), 1) as one, node(database.url(), 2) as two:
        await one.create(A)
        await two.reaches(1)
        monkeypatch.setattr(two.store, "_listen", lambda *_given: asyncio.Event().wait())
        another_past(database)

        assert await two.create(B) is None

        assert two.seen() == [B, C]
        await one.reaches(2)
        assert one.seen() == two.seen()


async def test_a_past_that_changes_twice_is_read_twice(database: Database) -> None:
    """What was read anew is of a database that may be lost as well."""
    async with node(database.url(), 1) as one:
        await one.create(A)
        for binding in (C, B):
            another_past(database, binding)
            async with asyncio.timeout(PATIENCE_S):
                while one.seen() != [binding]:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)


def another_past(database: Database, binding: AclBinding = C) -> None:
    """Make a database whose only revision is another one, as a standby that was written to."""
    database.execute(
        f"UPDATE doorkeeper.acl SET name = '{binding.pattern.name}';"
        f" UPDATE doorkeeper.change_log SET name = '{binding.pattern.name}',"
        " batch = gen_random_uuid()"
    )
    database.terminate_backends()


async def test_what_fails_in_a_follower_is_read_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A state that may be half changed is not kept."""
    async with node(database.url(), 1) as one, node(database.url(), 2) as two:
        monkeypatch.setattr(two.timeline, "follow", lambda _change: 1 // 0)
        await one.create(A)
        await two.reaches(1)
        assert two.seen() == one.seen()
