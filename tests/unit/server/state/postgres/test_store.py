"""Nodes that share a PostgreSQL database, each with its state log."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.server.schema.change import SERVER, edit
from doorkeeper.server.schema.declared import CONFIG, StoredConfig
from doorkeeper.server.state.postgres import rows
from doorkeeper.server.state.store import OutcomeUnknown, StorageError, StoreUnavailable
from testkit.acl import READ, allow, topic
from testkit.postgres import Postgres
from testkit.sharing import comes, node
from testkit.stores import adding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.base.slices import Slices
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.state import State
    from testkit.postgres import Database

pytestmark = pytest.mark.interop

A, B, C = (allow("alice", READ, topic(name)) for name in "abc")


@pytest.fixture(scope="module")
def mortal_server() -> Iterator[Postgres]:
    """Give a server that tests may stop, and start again."""
    with Postgres.made_or_skipped() as server:
        yield server


@pytest.fixture
def mortal(mortal_server: Postgres) -> Iterator[Database]:
    if not mortal_server.is_running:
        mortal_server.start()
    made = mortal_server.create_database()
    yield made
    made.drop()


async def test_plan_sees_changes_of_other_nodes(database: Database) -> None:
    async with node(database.url(), 1) as one, node(database.url(), 2) as two:
        for _ in range(3):
            assert await one.create(A) is None
            assert await two.delete(ANY_BINDING) is None
            assert two.seen() == []
            assert await one.create(B) is None
            assert one.seen() == [B]
            assert await two.delete(ANY_BINDING) is None


async def test_waiting_changes_share_a_commit(database: Database) -> None:
    async with node(database.url()) as one:
        results = [one.create(allow("u", READ, topic(f"t{n}"))) for n in range(100)]
        assert await asyncio.gather(*results) == [None] * 100

        batches = database.execute("SELECT count(DISTINCT batch) FROM doorkeeper.log")
        names = database.execute("SELECT value::jsonb ->> 1 FROM doorkeeper.log ORDER BY revision")
    assert int(batches) < 10
    assert names.split() == [f"t{n}" for n in range(100)]


async def test_changes_wait_for_the_database(mortal: Database) -> None:
    server = mortal.server
    async with node(mortal.url(), timeout_s=30) as one:
        await one.create(A)
        server.stop()
        waiting = one.create(B)
        await comes(lambda: one.store.unavailable is not None)
        await comes(lambda: one.log.status().age_s > 0.3)
        assert one.seen() == [A]
        assert not waiting.done()
        assert one.store.unavailable is not None

        await asyncio.to_thread(server.start)

        assert await waiting is None
        assert one.seen() == [A, B]
        await one.reachable()


async def test_waiting_change_times_out(mortal: Database) -> None:
    server = mortal.server
    async with node(mortal.url(), timeout_s=1) as one:
        assert await one.create(A) is None
        server.stop()
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        failed = await one.create(B)
        waited_s = loop.time() - began_s
        await asyncio.to_thread(server.start)
        while (result := await one.create(C)) is not None:
            assert isinstance(result, StoreUnavailable)

        assert isinstance(failed, StoreUnavailable)
        assert waited_s > 0.9
        assert one.seen() == [A, C]
    assert mortal.execute("SELECT count(*) FROM doorkeeper.item") == "2"


async def test_commit_with_lost_response_is_found_in_the_log(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = asyncpg.transaction.Transaction.commit

    async def lost(self: asyncpg.transaction.Transaction) -> None:
        await commit(self)
        monkeypatch.undo()
        raise ConnectionResetError("the answer is lost")

    async with node(database.url()) as one:
        await one.create(A)
        monkeypatch.setattr(asyncpg.transaction.Transaction, "commit", lost)
        assert await one.create(B) is None
        assert await one.create(C) is None
        assert one.seen() == [A, B, C]
    assert database.execute("SELECT count(*) FROM doorkeeper.log") == "3"


async def test_commit_that_never_arrived_is_repeated(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: asyncpg.transaction.Transaction) -> None:
        monkeypatch.undo()
        raise ConnectionResetError("it never arrived")

    async with node(database.url()) as one:
        await one.create(A)
        monkeypatch.setattr(asyncpg.transaction.Transaction, "commit", never)
        assert await one.create(B) is None
        assert one.seen() == [A, B]
    assert database.execute("SELECT count(*) FROM doorkeeper.log") == "2"


async def test_unresolved_commit_outcome_is_reported(
    mortal: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = asyncpg.transaction.Transaction.commit
    server = mortal.server

    async def lost(self: asyncpg.transaction.Transaction) -> None:
        await commit(self)
        monkeypatch.undo()
        server.stop()
        raise ConnectionResetError("the answer is lost")

    async with node(mortal.url(), timeout_s=1) as one:
        await one.create(A)
        monkeypatch.setattr(asyncpg.transaction.Transaction, "commit", lost)
        assert isinstance(await one.create(B), OutcomeUnknown)
        assert one.seen() == [A]
        await asyncio.to_thread(server.start)
        await one.reaches(2)
        assert one.seen() == [A, B]


async def test_frozen_writer_loses_the_lease(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    freezes, thaw = asyncio.Event(), asyncio.Event()

    async def frozen(*given: Any, **named: Any) -> None:
        monkeypatch.undo()
        freezes.set()
        await thaw.wait()
        await rows.write(*given, **named)

    url = database.url()
    async with node(url, 1, lease_timeout_s=0.5) as one, node(url, 2) as two:
        monkeypatch.setattr(rows, "write", frozen)
        mine = one.create(A)
        await freezes.wait()
        assert await two.create(B) is None
        thaw.set()

        assert await mine is None
        await two.reaches(2)
        assert one.seen() == two.seen() == [A, B]


async def test_long_plan_keeps_the_lease(database: Database) -> None:
    runs = 0

    def plan_long(_state: State) -> Slices[tuple[Change, None]]:
        nonlocal runs
        runs += 1
        ends_s = time.monotonic() + 1
        while time.monotonic() < ends_s:
            yield
        return adding(1), None

    async with node(database.url(), lease_timeout_s=0.4) as one:
        await one.log.submit(plan_long, SERVER)

        assert runs == 1


async def test_rejected_change_fails_alone(database: Database) -> None:
    async with node(database.url()) as one:
        first = one.create(A)
        bad = one.submit(lambda _state: (edit(CONFIG, set=[StoredConfig("", "k", "\ud800")]), None))
        last = one.create(B)

        assert await first is None
        result = await bad
        assert isinstance(result, StorageError)
        assert not isinstance(result, StoreUnavailable | OutcomeUnknown)
        assert await last is None
        assert one.seen() == [A, B]
        assert one.store.unavailable is None
