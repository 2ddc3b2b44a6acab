"""The standard authorizer over the real store: what was answered is there after a restart."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.storage.contract import Author, Change, StoredTopic
from doorkeeper.storage.embedded import EmbeddedStore
from testkit.acl import READ, allow, request_of, topic, wanted
from testkit.authorizers import CLIENTS, SERVER, started
from testkit.stores import plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.authorizer.contract import AclCreateResult, AclDeleteResult

ROOT = request_of("root")


@contextmanager
def opened(folder: Path) -> Iterator[EmbeddedStore]:
    """Open the store and let its writer run."""
    store = EmbeddedStore.open(folder, now_ms=lambda: 0, random_bytes=os.urandom, retention_days=1)
    store.start(asyncio.get_running_loop())
    try:
        yield store
    finally:
        store.close()


async def test_acls_outlive_a_restart(tmp_path: Path) -> None:
    """With their ids; what was deleted is gone."""
    a, b, c = (allow("alice", READ, topic(name)) for name in "abc")
    with opened(tmp_path / "data") as store:
        authorizer = await started(store=store)
        results: list[asyncio.Future[AclCreateResult] | asyncio.Future[AclDeleteResult]] = [
            *authorizer.create_acls(ROOT, [a, b]),
            *authorizer.delete_acls(ROOT, [wanted(name="a")]),
            *authorizer.create_acls(ROOT, [c]),
        ]
        assert [(await each).error for each in results] == [None] * 4
        assert store.revision == 3
        ids = [authorizer.snapshot.id_of(each) for each in (b, c)]

    with opened(tmp_path / "data") as store:
        again = await started(store=store)

        assert again.acls(ANY_BINDING) == [b, c]
        assert [again.snapshot.id_of(each) for each in (b, c)] == ids


async def test_the_load_goes_on_beside_the_writer(tmp_path: Path) -> None:
    """Topics may be stored meanwhile: the load reads over a connection of its own."""
    many = [allow("alice", READ, topic(f"t{number}")) for number in range(5000)]
    with opened(tmp_path / "data") as store:
        authorizer = await started(store=store)
        await authorizer.create_acls(ROOT, many)[0]

    loop = asyncio.get_running_loop()
    with opened(tmp_path / "data") as store:
        authorizer = type(authorizer)()
        authorizer.attach(store)
        loaded = authorizer.start(SERVER)[CLIENTS]
        revisions: list[object] = []
        while not asyncio.ensure_future(loaded).done():
            revision: asyncio.Future[object] = loop.create_future()
            name = f"made-{len(revisions)}"
            made = Change(
                author=Author("User:root", "h", "l", "c"),
                topics_added=(StoredTopic(name, os.urandom(16), 1, 1, {}),),
            )
            store.submit(plan(made), revision.set_result)
            revisions.append(await revision)

        assert authorizer.acl_count() == 5000
        assert revisions == list(range(2, 2 + len(revisions)))
        assert revisions
