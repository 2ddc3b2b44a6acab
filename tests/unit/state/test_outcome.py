"""What clients are told of a change that the store did not take."""

from __future__ import annotations

import asyncio

import pytest

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.kinds.change import SERVER
from doorkeeper.state.log import StateLog
from doorkeeper.state.outcome import commit, not_stored
from doorkeeper.state.store import OutcomeUnknown, StorageError, StoreReplaced, StoreUnavailable
from testkit.hand_store import HandStore
from testkit.stores import adding


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (StorageError("/var/secret/path: full"), ErrorCode.KAFKA_STORAGE_ERROR, "not be stored"),
        (StoreReplaced("/var/secret/path"), ErrorCode.KAFKA_STORAGE_ERROR, "not be stored"),
        (StoreUnavailable("db.example:5432"), ErrorCode.REQUEST_TIMED_OUT, "Nothing was changed"),
        (OutcomeUnknown("db.example:5432"), ErrorCode.REQUEST_TIMED_OUT, "is unknown"),
    ],
)
def test_the_outcome_is_told_and_no_place(error: StorageError, code: ErrorCode, words: str) -> None:
    """Whether something was changed is told; where the store is, and why, is for the log."""
    told = not_stored(error)

    assert told.code is code
    assert words in str(told.message)
    assert str(error) not in str(told.message)


async def test_a_commit_that_fails_is_an_error_for_clients() -> None:
    """A coroutine that awaits a change gets the answer to give."""
    store = HandStore()
    log = StateLog(store)
    await log.start()
    waiting = asyncio.ensure_future(commit(log, lambda _: adding(1), SERVER))
    while not store.waiting:  # noqa: ASYNC110 - turns of the loop
        await asyncio.sleep(0)

    store.deliver(StorageError("full"))
    with pytest.raises(ApiError) as caught:
        await waiting

    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    await log.aclose()
