"""What a client is told of a change that the store did not take."""

from __future__ import annotations

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.contract import OutcomeUnknown, StorageError, StoreAway


def not_stored(error: StorageError) -> ApiError:
    """Return the answer: nothing was changed, or nobody knows; why is for the log."""
    if isinstance(error, StoreAway):
        text = "Nothing was changed: the store that the nodes share could not be reached."
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    if isinstance(error, OutcomeUnknown):
        text = "The change may have been made or not: the store went away while it was written."
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The change could not be stored.")
