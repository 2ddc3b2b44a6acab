"""The outcome of a change for the client that asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.state.log import StateLog, origin_of
from doorkeeper.server.state.store import OutcomeUnknown, StorageError, StoreUnavailable
from doorkeeper.server.state.submissions import Plan

R = TypeVar("R")

UNCHANGED = "Nothing was changed"


class Results(Struct, frozen=True):
    """The results of the items of an authorizer's update, in order.

    ``errors`` were raised by awaitables of an authorizer and are logged, not sent to clients.
    ``timed_out`` counts the items that were incomplete at the deadline.
    """

    values: Sequence[Any]
    errors: Sequence[BaseException] = ()
    timed_out: int = 0

    def with_error(self, error: ApiError) -> Results:
        """Return these with an error in place of each success."""
        values = [
            value if value.error is not None else value._replace(error=error)
            for value in self.values
        ]
        return replace(self, values=values)


def not_stored(error: StorageError, unchanged: str = UNCHANGED) -> ApiError:
    """Return the error for clients; the cause is in the server's log.

    ``unchanged`` is the phrase for an unchanged state.
    """
    if isinstance(error, StoreUnavailable):
        text = f"{unchanged}: the store that the nodes share could not be reached."
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    if isinstance(error, OutcomeUnknown):
        text = (
            "The outcome of the change is unknown: the store became unavailable during the commit."
        )
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    text = "The change could not be stored."
    if unchanged != UNCHANGED:
        text = f"{unchanged}: the server could not store the change. Its log says why."
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, text)


async def commit(log: StateLog, plan: Plan[R], context: RequestContext) -> R:
    """Submit the plan of a request, and wait for its commit; return the plan's result.

    Raises:
        ApiError: the plan refused, or the change could not be stored.
    """
    try:
        return (await log.submit(plan, origin_of(context.authorizable))).result
    except StorageError as error:
        raise not_stored(error) from error
