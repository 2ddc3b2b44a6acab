"""A node keeps what it knows when another database takes the place of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
import structlog

from doorkeeper.server.state.postgres.connecting import connect_to_primary
from doorkeeper.server.state.postgres.schema import identity, set_meta
from doorkeeper.server.state.storage.identity import (
    ExpectedStore,
    read_expected_store,
    replace_identity_file,
)
from doorkeeper.server.state.store import StoreReplaced
from testkit.acl import READ, allow, topic
from testkit.shared_stores import prepared, store_of, write
from testkit.sharing import Node, comes, connecting, node
from testkit.stores import adding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from doorkeeper.server.state.postgres.connecting import Check
    from testkit.postgres import Database, Postgres

pytestmark = pytest.mark.interop

TWO_HOSTS = store_of("postgresql://u@one,two/d")

A, B, C = (allow("alice", READ, topic(name)) for name in "abc")


class Host:
    """The database to which a URL leads at the moment."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def connect(self, check: Check) -> asyncpg.Connection:
        return await connecting(self.url)(check)


@pytest.fixture
async def other(postgres_server: Postgres) -> AsyncIterator[Database]:
    """Another database, empty."""
    made = postgres_server.create_database()
    yield made
    made.drop()


async def empty(_database: Database, _other: Database) -> str:
    return "found no store in this database"


async def of_another_cluster(_database: Database, other: Database) -> str:
    await prepared(other)
    return "found store"


async def older(database: Database, other: Database) -> str:
    """Give a copy from the time of its first revision, as a standby that lags has it."""
    await prepared(other)
    await like(database, other, 1)
    return "found a database at revision 1"


async def with_another_past(database: Database, other: Database) -> str:
    """Give a copy that went on without the node: its revision is another one there."""
    await prepared(other)
    await like(database, other, 2)
    return "revision 2 in the store differs from that of this node: the store was replaced"


async def like(database: Database, other: Database, revisions: int) -> None:
    """Give a database the identity of another one, and revisions of its own."""
    one, two = [await asyncpg.connect(each.url()) for each in (database, other)]
    found = await identity(one)
    await set_meta(two, "cluster_id", found.cluster_id)
    await set_meta(two, "store_id", found.store_id)
    await write(two, *[adding(number) for number in range(revisions)])
    await one.close()
    await two.close()


@pytest.mark.parametrize("found", [empty, of_another_cluster, older, with_another_past])
async def test_other_database_at_the_url_rejects_changes(
    database: Database, other: Database, found: Callable[[Database, Database], Awaitable[str]]
) -> None:
    host = Host(database.url())
    async with node("", connect=host.connect) as one:
        await one.create(A)
        await one.create(B)
        said = await found(database, other)
        host.url = other.url()
        with structlog.testing.capture_logs() as lines:
            database.terminate_backends()
            await comes(lambda: said in (one.store.unavailable or ""))
            assert isinstance(await one.create(C), StoreReplaced)
            assert one.seen() == [A, B]
            assert not one.log.status().reachable

            host.url = database.url()
            other.terminate_backends()
            await one.reachable()
            assert await one.create(C) is None
            assert one.seen() == [A, B, C]
    errors = [each for each in lines if "not the store" in each["event"]]
    assert len(errors) == 1
    assert said in errors[0]["cause"]
    assert "doorkeeper store accept" in errors[0]["cause"]


@pytest.mark.parametrize("found", [empty, older])
async def test_own_database_is_found_on_another_host(
    database: Database,
    other: Database,
    tmp_path: Path,
    found: Callable[[Database, Database], Awaitable[str]],
) -> None:
    file, hosts = tmp_path / "identity", [database.url()]

    async def connect(check: Check) -> asyncpg.Connection:
        places = iter(hosts)
        return await connect_to_primary(
            lambda *_words, **_named: asyncpg.connect(next(places)), TWO_HOSTS, {}, check
        )

    async with node("", connect=connect, identity_file=file) as one:
        await one.create(A)
        await one.create(B)
        await found(database, other)
        hosts.insert(0, other.url())
        database.terminate_backends()
        assert await one.create(C) is None
        await one.reachable()
    async with node("", connect=connect, identity_file=file) as one:
        assert one.seen() == [A, B, C]


async def test_identity_file_is_checked_at_start(
    database: Database, other: Database, tmp_path: Path
) -> None:
    file = tmp_path / "identity"
    async with node(database.url(), identity_file=file) as one:
        await one.create(A)
        await one.create(B)
        expected = ExpectedStore(one.store.identity.cluster_id, one.store.identity.store_id, 2)
    assert read_expected_store(file) == expected

    async with node(database.url(), identity_file=file) as one:
        assert one.seen() == [A, B]
    with pytest.raises(StoreReplaced, match="no store is here"):
        await opened(other.url(), file)
    assert other.execute("SELECT to_regnamespace('doorkeeper') IS NULL") == "t"
    await prepared(other)
    with pytest.raises(StoreReplaced, match=r"this is store .* expects store"):
        await opened(other.url(), file)
    replace_identity_file(file, expected._replace(revision=3))
    with pytest.raises(StoreReplaced, match=r"revision 2, but .* revision 3"):
        await opened(database.url(), file)


async def opened(url: str, file: Path) -> Node | None:
    async with node(url, identity_file=file) as one:
        return one
