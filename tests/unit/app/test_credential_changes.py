"""Changing SCRAM credentials: in order, durable before they count."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from doorkeeper.app.credential_changes import CredentialChanges
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.node import AlterCredentials, CredentialDeletion, CredentialUpsertion
from doorkeeper.scram_users import ScramUsers
from doorkeeper.storage.contract import (
    Author,
    Change,
    CredentialKey,
    StorageError,
    StoreAway,
    StoredState,
)
from doorkeeper_wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from testkit.hand_store import HandStore, PenStore
from testkit.reconfigured import CONTEXT, running
from testkit.stores import credential

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MECHANISM = "SCRAM-SHA-256"


def change(*, put: Sequence[str] = (), gone: Sequence[str] = ()) -> AlterCredentials:
    return AlterCredentials(
        deletions=tuple(CredentialDeletion(user, 1) for user in gone),
        upsertions=tuple(CredentialUpsertion(user, 1, 4096, b"salt", b"salted") for user in put),
        finish=lambda _results: AlterUserScramCredentialsResponse(),
    )


class World:
    """Changes over a store in the test's hand; alice is there from the start."""

    def __init__(self, store: HandStore | None = None) -> None:
        self.store = store or HandStore()
        users = ScramUsers([credential("alice")])
        self.changes = CredentialChanges(
            users, self.store, asyncio.get_running_loop(), structlog.get_logger("doorkeeper.server")
        )

    def begun(self) -> World:
        self.changes.begin()
        return self

    def alter(
        self, *, put: Sequence[str] = (), gone: Sequence[str] = ()
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        return self.changes.alter_credentials(change(put=put, gone=gone), CONTEXT)

    def names(self) -> list[str]:
        return list(self.changes.users.names())


def codes(results: Sequence[ApiError | None]) -> list[int]:
    return [0 if error is None else int(error.code) for error in results]


async def test_a_credential_counts_when_it_is_durable() -> None:
    """Until the store has it nobody logs in with it; one that is deleted counts until then."""
    world = World().begun()
    answer = world.alter(put=["bob"], gone=["alice"])
    assert world.changes.credential(MECHANISM, "bob") is None
    assert world.changes.credential(MECHANISM, "alice") is not None
    assert not answer.done()

    world.store.deliver(1)

    assert world.changes.credential(MECHANISM, "bob") is not None
    assert world.changes.credential(MECHANISM, "alice") is None
    assert codes(await answer) == [0, 0]


async def test_changes_are_judged_on_those_under_way() -> None:
    """A deletion sees the one before it, which the store does not have yet."""
    world = World().begun()
    first = world.alter(gone=["alice"])
    second = world.alter(gone=["alice"], put=["bob"])
    third = world.alter(gone=["bob"])

    for revision in (1, 2, 3):
        world.store.deliver(revision)

    assert codes(await first) == [0]
    assert codes(await second) == [ErrorCode.RESOURCE_NOT_FOUND, 0]
    assert codes(await third) == [0]
    assert world.names() == []


async def test_one_request_is_one_change_with_its_author() -> None:
    """All credentials of a request go to the store together, with who asked and from where."""
    world = World().begun()
    world.alter(put=["bob", "carol"], gone=["alice"])

    ((stored, _),) = world.store.submitted

    assert [key.user for key, _ in stored.credentials_set] == ["bob", "carol"]
    assert [key.user for key in stored.credentials_deleted] == ["alice"]
    assert stored.author == Author("User:admin", "10.0.0.1", "PLAINTEXT", "client-1")


async def test_a_failure_takes_all_under_way_back() -> None:
    """Every change under way fails with the store's; the next is judged on what is durable."""
    world = World().begun()
    lost = world.alter(gone=["alice"])
    behind = world.alter(gone=["alice"], put=["bob"])

    world.store.deliver(StorageError("disk full"))
    world.store.deliver(StorageError("disk full"))
    retried = world.alter(gone=["alice"])
    world.store.deliver(1)

    assert codes(await lost) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert codes(await behind) == [ErrorCode.RESOURCE_NOT_FOUND, ErrorCode.KAFKA_STORAGE_ERROR]
    assert codes(await retried) == [0]
    assert world.names() == []


async def test_until_the_start_is_over_changes_wait() -> None:
    """While ACLs are read from the store nothing is written to it; then all of it is, in order."""
    world = World()
    answer = world.alter(put=["bob"])
    world.alter(put=["carol"])
    assert world.store.submitted == []

    world.changes.begin()

    assert [len(each.credentials_set) for each, _ in world.store.submitted] == [1, 1]
    world.store.deliver(1)
    assert codes(await answer) == [0]


async def test_a_client_that_left_leaves_the_change_in_force() -> None:
    """An answer that nobody waits for changes nothing about what was stored."""
    world = World().begun()
    world.alter(put=["bob"]).cancel()

    world.store.deliver(1)

    assert world.names() == ["alice", "bob"]


async def test_users_are_there_after_a_restart(tmp_path: Path) -> None:
    """What was answered is in the store; the log names users and mechanisms, and no secret."""
    async with running(tmp_path, "") as server:
        done = await server.assembly.credential_changes.alter_credentials(
            change(put=["bob"]), CONTEXT
        )
        assert codes(done) == [0]
        lines = [line for line in server.log.lines() if "SCRAM" in line["event"]]

    async with running(tmp_path, "") as server:
        assert server.assembly.node.scram_users.iterations_of("bob") == {MECHANISM: 4096}

    (line,) = lines
    assert (line["set"], line["principal"]) == ("bob (SCRAM-SHA-256)", "User:admin")
    assert "salt" not in str(line)


async def test_with_a_shared_store_a_plan_sees_what_other_nodes_did() -> None:
    """Who was deleted on another node is not there to be deleted here."""
    store = PenStore()
    world = World(store).begun()
    answer = world.alter(gone=["alice"], put=["bob"])
    gone = CredentialKey("alice", MECHANISM)

    assert store.plan().credentials_deleted == (gone,)
    world.changes.rewind()
    world.changes.follow(Change(author=AUTHOR, credentials_deleted=(gone,)))
    assert store.plan().credentials_deleted == ()
    store.done(2)

    assert codes(await answer) == [ErrorCode.RESOURCE_NOT_FOUND, 0]
    assert world.names() == ["bob"]


async def test_nobody_is_made_while_the_store_is_away() -> None:
    """The answer says that nothing was changed, though no plan was ever made."""
    store = PenStore()
    world = World(store).begun()
    answer = world.alter(put=["bob"])

    store.done(StoreAway("db.example:5432"))

    assert codes(await answer) == [ErrorCode.REQUEST_TIMED_OUT]
    assert world.names() == ["alice"]


async def test_a_whole_state_replaces_the_users() -> None:
    """Who is not in it is gone."""
    world = World().begun()

    await world.changes.reload(StoredState(revision=3, credentials=(credential("carol"),)))

    assert world.names() == ["carol"]


AUTHOR = Author("User:bob", "h", "l", "c")
