"""Validates results of authorizers, down to the types of their fields.

An invalid field would only be detected while a response is encoded, too late to send an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeGuard

from msgspec import Struct

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import SLICE_ITEMS, next_turn, parts
from doorkeeper.server.authorizer.awaitables import LATE
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
)
from doorkeeper.server.state.outcome import Results

# The types of the fields of a pattern and an entry.
_TYPES = (ResourceType, str, PatternType, str, str, AclOperation, AclPermissionType)


def is_binding(result: object) -> TypeGuard[AclBinding]:
    """Return whether it is a binding whose fields have the right types."""
    if type(result) is not AclBinding:
        return False
    if type(result.pattern) is not ResourcePattern or type(result.entry) is not AccessControlEntry:
        return False
    return all(map(isinstance, (*result.pattern, *result.entry), _TYPES))


def is_create_result(result: object) -> TypeGuard[AclCreateResult]:
    return isinstance(result, AclCreateResult) and _is_error(result.error)


def is_delete_result(result: object) -> TypeGuard[AclDeleteResult]:
    """Return whether it is a result for one filter; its bindings are not looked at."""
    return (
        isinstance(result, AclDeleteResult)
        and _is_error(result.error)
        and isinstance(result.bindings, (tuple, list))
    )


async def are_deleted(bindings: Iterable[object]) -> bool:
    """Return whether these are the bindings of a result for one filter."""
    for part in parts(bindings):
        if not all(map(_is_binding_delete_result, part)):
            return False
        if len(part) == SLICE_ITEMS:
            await next_turn()
    return True


def _is_binding_delete_result(result: object) -> bool:
    return (
        isinstance(result, AclBindingDeleteResult)
        and _is_error(result.error)
        and is_binding(result.binding)
    )


def _is_error(result: object) -> bool:
    return result is None or isinstance(result, ApiError)


class AclChange(Struct, frozen=True):
    """A way to change ACLs: a method of authorizers, and its results."""

    method: str
    result: Callable[[ApiError | None], Any]
    is_result: Callable[[Any], bool]


CREATION: Final = AclChange("create_acls", AclCreateResult, is_create_result)
DELETION: Final = AclChange("delete_acls", AclDeleteResult, is_delete_result)


async def results_of(outcomes: Sequence[Any], change: AclChange) -> Results:
    """Return the results of the items of a change: those of the contract, or errors.

    Others are served in between.

    An ``ApiError`` is the result of its item. Any other exception, or a result of another type,
    becomes error -1 and is kept in ``errors``; ``LATE`` becomes REQUEST_TIMED_OUT.
    """
    values: list[Any] = []
    errors: list[BaseException] = []
    late = 0
    last: object = values  # no outcome is it
    for outcome in outcomes:
        if outcome is last and values:
            values.append(outcome)
        elif change.is_result(outcome) and (
            change is CREATION or await are_deleted(outcome.bindings)
        ):
            last = outcome
            values.append(outcome)
        elif isinstance(outcome, ApiError):
            values.append(change.result(outcome))
        elif outcome is LATE:
            late += 1
            values.append(change.result(ApiError(ErrorCode.REQUEST_TIMED_OUT)))
        else:
            is_error = isinstance(outcome, BaseException)
            wrong = TypeError(f"found {outcome!r:.200} as the result of an item")
            errors.append(outcome if is_error else wrong)
            values.append(change.result(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)))
        if not len(values) % SLICE_ITEMS:
            await next_turn()
    return Results(values, errors, late)
