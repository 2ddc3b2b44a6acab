"""Altering SCRAM credentials, by the rules of a broker's controller."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.credentials import credential_of
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.users import (
    ScramUsers,
    judge,
    plan_credentials,
)
from doorkeeper.server.schema.change import RECORDS_MAX, Author, edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.state.outcome import commit
from doorkeeper.server.state.store import StorageError
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from testkit.hand_store import HandStore
from testkit.memory_logs import memory_log
from testkit.reconfigured import CONTEXT
from testkit.scram import salted_password
from testkit.state_logs import turns
from testkit.stores import credential

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State

USERS = ScramUsers().with_changes(
    [credential("alice"), credential("alice", "SCRAM-SHA-512"), credential("bob")]
)

TWICE = (92, "A user credential cannot be altered twice in the same request")
ABSENT = (91, "Attempt to delete a user credential that does not exist")
NAMELESS = (93, "Username must not be empty")
UNKNOWN = (33, "Unknown SCRAM mechanism")


def gone(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def put(
    user: str, mechanism: int = 1, iterations: int = 4096, salted_password: bytes = b"p"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=salted_password,
    )


def parted(
    items: Sequence[ScramCredentialDeletion | ScramCredentialUpsertion],
) -> tuple[list[ScramCredentialDeletion], list[ScramCredentialUpsertion]]:
    """Return the deletions, and the upsertions."""
    return (
        [each for each in items if isinstance(each, ScramCredentialDeletion)],
        [each for each in items if isinstance(each, ScramCredentialUpsertion)],
    )


def outcome(
    *items: ScramCredentialDeletion | ScramCredentialUpsertion,
) -> tuple[list[str], list[str], dict[str, tuple[int, str | None]]]:
    """Return who loses a credential, who gets one, and who is refused, with which words."""
    deleted, upserted, errors = judge(USERS, *parted(items))
    return (
        [row.user for row in deleted],
        [each.name for each in upserted],
        {user: (int(error.code), error.message) for user, error in errors.items()},
    )


def alter(
    log: StateLog, *items: ScramCredentialDeletion | ScramCredentialUpsertion
) -> asyncio.Task[Mapping[str, ApiError]]:
    def plan(state: State) -> Any:
        return plan_credentials(state.credentials, *parted(items))

    return asyncio.ensure_future(commit(log, plan, CONTEXT))


@pytest.mark.parametrize(
    "items",
    [
        (gone("alice"), gone("alice", 2)),
        (gone("alice"), put("alice")),
        (put("alice"), put("alice", 2)),
        (gone("alice"), gone("alice"), put("alice")),
    ],
)
def test_user_altered_twice_is_unchanged(
    items: tuple[ScramCredentialDeletion | ScramCredentialUpsertion, ...],
) -> None:
    assert outcome(*items, put("bob"), gone("bob", 2)) == ([], [], {"alice": TWICE, "bob": ABSENT})
    assert outcome(*items, put("bob"), put("new")) == ([], ["bob", "new"], {"alice": TWICE})


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (gone("carol"), ABSENT),
        (gone("bob", 2), ABSENT),
        (gone(""), NAMELESS),
        (gone("", 9), NAMELESS),
        (put("", 9), NAMELESS),
        (gone("bob", 0), UNKNOWN),
        (put("bob", 3), UNKNOWN),
        (put("bob", -1, iterations=1), UNKNOWN),
        (put("bob", iterations=4095), (93, "Too few iterations")),
        (put("bob", iterations=-1), (93, "Too few iterations")),
        (put("bob", 2, iterations=16385), (93, "Too many iterations")),
        (put("bob", salted_password=b""), (-1, None)),
    ],
)
def test_each_fault_has_kafkas_text(
    item: ScramCredentialDeletion | ScramCredentialUpsertion, error: tuple[int, str | None]
) -> None:
    assert outcome(item) == ([], [], {item.name: error})


def test_first_error_of_a_user_is_kept() -> None:
    assert outcome(gone("carol"), gone("carol"), put("carol"))[2] == {"carol": ABSENT}
    assert outcome(put("bob", 9), put("bob"))[2] == {"bob": UNKNOWN}


@pytest.mark.parametrize("iterations", [4096, 16384])
async def test_credential_matches_the_password(iterations: int) -> None:
    async with memory_log() as log:
        for code, mechanism in ((1, "SCRAM-SHA-256"), (2, "SCRAM-SHA-512")):
            word = salted_password(mechanism, "alice-secret", b"salt", iterations)

            await alter(log, put("alice", code, iterations, word))

            made = credential_of(mechanism, "alice-secret", iterations, b"salt")
            assert log.state.credentials.credential(mechanism, "alice") == made


def test_excessive_request_changes_nothing() -> None:
    """10,000 changes at once are made; one more is refused for every user, as a fault."""
    many = tuple(put(f"user-{number}") for number in range(RECORDS_MAX))

    assert outcome(*many)[2] == {}
    deleted, replaced, errors = outcome(*many, put("one more"), put("bad", 9))
    assert (deleted, replaced) == ([], [])
    assert set(errors.values()) == {(-1, None)}
    assert len(errors) == RECORDS_MAX + 2


async def test_credential_applies_once_durable() -> None:
    alice = credential("alice")
    async with memory_log(store := HandStore(edit(CREDENTIAL, set=[alice]))) as log:
        lost = alter(log, put("bob"))
        await turns()
        store.deliver(StorageError("disk full"))
        with pytest.raises(ApiError) as caught:
            await lost
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        altering = alter(log, gone("alice"), put("bob"))
        await turns()
        again = alter(log, gone("alice"))
        await turns()
        assert log.state.credentials.names() == ["alice"]
        assert not altering.done()
        store.deliver()

        assert await altering == {}
        assert [error.code for error in (await again).values()] == [91]
        assert log.state.credentials.names() == ["bob"]

    (entry,) = store.entries
    assert entry.author == Author("User:admin", "10.0.0.1", "PLAINTEXT", "client-1", "", 7)
    edited = entry.change[CREDENTIAL]
    assert edited.deleted == (alice,)
    assert [row.user for row in edited.set] == ["bob"]
