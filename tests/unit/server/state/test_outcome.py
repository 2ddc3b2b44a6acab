"""What clients are told of a change that the store did not take."""

from __future__ import annotations

import pytest

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.state.outcome import not_stored
from doorkeeper.server.state.store import (
    OutcomeUnknown,
    StorageError,
    StoreReplaced,
    StoreUnavailable,
)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (StorageError("/var/secret/path: full"), ErrorCode.KAFKA_STORAGE_ERROR, "not be stored"),
        (StoreReplaced("/var/secret/path"), ErrorCode.KAFKA_STORAGE_ERROR, "not be stored"),
        (StoreUnavailable("db.example:5432"), ErrorCode.REQUEST_TIMED_OUT, "Nothing was changed"),
        (OutcomeUnknown("db.example:5432"), ErrorCode.REQUEST_TIMED_OUT, "is unknown"),
    ],
)
def test_error_text_hides_the_location(error: StorageError, code: ErrorCode, words: str) -> None:
    told = not_stored(error)

    assert told.code is code
    assert words in str(told.message)
    assert str(error) not in str(told.message)
