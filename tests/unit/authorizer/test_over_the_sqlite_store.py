"""The standard authorizer over the real store: what was answered is there after a restart."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.kinds.change import SERVER as SERVER_ORIGIN
from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import TOPIC, StoredTopic
from doorkeeper.state.log import StateLog
from doorkeeper.storage.sqlite import SqliteStore
from testkit.acl import READ, allow, request_of, topic, wanted
from testkit.authorizers import CLIENTS, SERVER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from doorkeeper.authorizer.contract import AclCreateResult, AclDeleteResult

ROOT = request_of("root")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[StateLog, StandardAuthorizer]]:
    """Open the store, with an authorizer that is not started."""
    log = StateLog(SqliteStore.open(folder, now_ms=lambda: 0, random_bytes=os.urandom))
    authorizer = StandardAuthorizer()
    authorizer.attach(log)
    try:
        yield log, authorizer
    finally:
        authorizer.close()
        await log.aclose()


async def test_acls_outlive_a_restart(tmp_path: Path) -> None:
    """With their ids; what was deleted is gone."""
    a, b, c = (allow("alice", READ, topic(name)) for name in "abc")
    async with opened(tmp_path / "data") as (log, authorizer):
        await authorizer.start(SERVER)[CLIENTS]
        results: list[asyncio.Future[AclCreateResult] | asyncio.Future[AclDeleteResult]] = [
            *authorizer.create_acls(ROOT, [a, b]),
            *authorizer.delete_acls(ROOT, [wanted(name="a")]),
            *authorizer.create_acls(ROOT, [c]),
        ]
        assert [(await each).error for each in results] == [None] * 4
        assert log.state.revision == 3
        ids = [authorizer.snapshot.id_of(each) for each in (b, c)]

    async with opened(tmp_path / "data") as (_, again):
        await again.start(SERVER)[CLIENTS]

        assert again.acls(ANY_BINDING) == [b, c]
        assert [again.snapshot.id_of(each) for each in (b, c)] == ids


async def test_changes_that_are_submitted_before_the_load_follow_it(tmp_path: Path) -> None:
    """They wait for the ACLs; nothing of the load is lost."""
    many = [allow("alice", READ, topic(f"t{number}")) for number in range(5000)]
    async with opened(tmp_path / "data") as (_, authorizer):
        await authorizer.start(SERVER)[CLIENTS]
        await authorizer.create_acls(ROOT, many)[0]

    async with opened(tmp_path / "data") as (log, authorizer):
        loaded = authorizer.start(SERVER)[CLIENTS]
        made = StoredTopic("made", os.urandom(16), 1, 1, {})
        committed = await log.submit(lambda _: edit(TOPIC, set=[made]), SERVER_ORIGIN)
        await loaded

        assert committed.revision == 2
        assert authorizer.acl_count() == 5000
        assert log.state.topics.get("made") is not None
