"""Who lives is in the store: by the database's clock, one run for each id."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import structlog
from msgspec.structs import replace

from doorkeeper.server.resources.cluster import Member
from doorkeeper.server.state.postgres.membership import (
    Membership,
    beat,
    check_store,
    leave,
    registered,
)
from doorkeeper.server.state.store import StorageError
from testkit.edge import PATIENCE_S
from testkit.shared_stores import prepared
from testkit.sharing import connecting
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    import asyncpg

    from testkit.postgres import Database

pytestmark = pytest.mark.interop

BEAT_S, TIMEOUT_S = 0.1, 2.0


def member(node_id: int, secret: str = "") -> Member:
    addresses = {"PLAINTEXT": (f"host-{node_id}", 9092), "SSL": ("::1", 9093)}
    return Member(node_id, addresses, f"rack-{node_id}" if node_id > 1 else None, secret)


async def becomes(read: Callable[[], object], expected: object) -> None:
    """Wait until something is as it shall be."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while read() != expected and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.005)
    assert read() == expected


class Seen:
    """A member, and the ids that it sees."""

    def __init__(self, url: str, own: Member) -> None:
        self.own = own
        self.members: Sequence[Member] = ()
        self.lists = 0
        self.membership = Membership(
            connecting(url),
            lambda: self.own,
            self._take,
            interval_s=BEAT_S,
            timeout_s=TIMEOUT_S,
            log=structlog.get_logger("doorkeeper.nodes"),
        )

    def _take(self, members: Sequence[Member]) -> None:
        self.members = members
        self.lists += 1

    def ids(self) -> list[int]:
        return [each.node_id for each in self.members if not each.is_fenced]

    def fenced(self) -> list[int]:
        return [each.node_id for each in self.members if each.is_fenced]

    async def die(self) -> None:
        """Stop without a word, as a process that is killed."""
        task = self.membership._task
        assert task is not None
        task.cancel()
        await asyncio.wait((task,))


@asynccontextmanager
async def entered(url: str, *members: Member) -> AsyncIterator[list[Seen]]:
    seen = [Seen(url, each) for each in members]
    try:
        for each in seen:
            await each.membership.enter()
        yield seen
    finally:
        for each in seen:
            await each.membership.leave()


async def test_members_are_listed(connection: asyncpg.Connection) -> None:
    run = uuid4()
    for each in (member(2), member(1, "ab")):
        assert await beat(connection, each, run, 60)

    assert await registered(connection) == [member(1, "ab"), member(2)]
    await leave(connection, 1, run)
    await leave(connection, 2, uuid4())

    left, stayed = await registered(connection)
    assert replace(left, fenced_ms=None) == member(1, "ab")
    assert left.is_fenced
    assert stayed == member(2)
    await leave(connection, 1, run)
    assert (await registered(connection))[0] == left


async def test_expired_node_id_is_taken_over(connection: asyncpg.Connection) -> None:
    one, other = uuid4(), uuid4()
    assert await beat(connection, member(1), one, 60)
    assert not await beat(connection, member(1), other, 60)
    assert await beat(connection, member(1), one, 0)
    assert [each.is_fenced for each in await registered(connection)] == [True]

    assert await beat(connection, member(1), other, 60)

    assert not await beat(connection, member(1), one, 60)
    assert await registered(connection) == [member(1)]


async def test_inactive_node_is_unregistered(database: Database) -> None:
    await prepared(database)
    async with entered(database.url(), member(1), member(2)) as (one, two):
        await two.membership.leave()
        await becomes(one.fenced, [2])

        assert await one.membership.unregister(2)

        assert (one.ids(), one.fenced()) == ([1], [])
        assert not await one.membership.unregister(2)
        assert await one.membership.unregister(1)
        await becomes(one.ids, [1])


async def test_second_node_with_the_id_is_rejected(database: Database) -> None:
    await prepared(database)
    async with entered(database.url(), member(1)):
        second = Seen(database.url(), member(1))
        with pytest.raises(StorageError, match=r"node\.id=1: another process has the id 1"):
            await second.membership.enter()
        await second.membership.leave()


@pytest.mark.parametrize("ahead", ["0 hours", "1 hour"])
async def test_killed_node_starts_again(database: Database, ahead: str) -> None:
    await prepared(database)
    async with entered(database.url(), member(1)) as (old,):
        await old.die()
        database.execute(
            f"UPDATE doorkeeper.node SET seen_at = seen_at + interval '{ahead}',"
            f" leaves_at = leaves_at + interval '{ahead}'"
        )
        async with asyncio.timeout(PATIENCE_S), entered(database.url(), member(1)) as (new,):
            assert new.ids() == [1]


async def test_unavailable_store_keeps_the_member_list(database: Database) -> None:
    await prepared(database)
    with TcpProxy(database.server.port) as proxy:
        url = database.url(port=proxy.port)
        async with entered(database.url(), member(1)) as (near,), entered(url, member(2)) as (far,):
            await becomes(near.ids, [1, 2])
            await becomes(far.ids, [1, 2])

            proxy.cut()
            await becomes(near.ids, [1])
            assert far.ids() == [1, 2]
            proxy.heal()

            await becomes(near.ids, [1, 2])
            assert far.ids() == [1, 2]


async def test_unavailable_store_stops_the_start() -> None:
    away = Seen("postgresql://u@127.0.0.1:1/d", member(1))

    with pytest.raises(StorageError, match="the nodes of the store"):
        await away.membership.enter()


async def test_replaced_node_is_logged(database: Database) -> None:
    await prepared(database)
    async with entered(database.url(), member(1)) as (one,):
        with structlog.testing.capture_logs() as lines:
            database.execute(
                "UPDATE doorkeeper.node SET run = gen_random_uuid(),"
                " leaves_at = now() + interval '1 second'"
            )
            told = "another process has taken over this node id; clients now connect to it"
            await becomes(lambda: [each["event"] for each in lines].count(told), 1)
            await asyncio.sleep(3 * BEAT_S)
            assert [each["event"] for each in lines].count(told) == 1
            run = str(one.membership._run)
            await becomes(lambda: database.execute("SELECT run FROM doorkeeper.node"), run)


async def test_node_does_not_join_another_store(database: Database) -> None:
    await prepared(database)
    other = await prepared(database.server.create_database())
    asked = asyncio.Event()

    store_id = database.execute("SELECT value FROM doorkeeper.meta WHERE key = 'store_id'").strip()

    async def astray() -> asyncpg.Connection:
        asked.set()
        return await connecting(other.url())(partial(check_store, store_id=store_id))

    async with entered(database.url(), member(1)) as (one,):
        await becomes(one.ids, [1])
        own, one.membership._connect = one.membership._connect, astray
        database.terminate_backends()
        await asked.wait()
        asked.clear()
        await asked.wait()  # the first connection has been refused

        assert other.execute("SELECT count(*) FROM doorkeeper.node") == "0"
        assert one.ids() == [1]
        one.membership._connect = own
    other.drop()
