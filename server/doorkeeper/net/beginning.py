"""Who is asked to make an update: the services or the authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.authorizer.contract import AclCreateResult, AclDeleteResult
from doorkeeper.authorizer.returned import is_create_result, is_delete_result
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.net.updates import Items
from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    DeleteAcls,
)

if TYPE_CHECKING:
    import asyncio

    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.exchange import Update
    from doorkeeper.net.spec import Services

    Outcome = CreateAcls | DeleteAcls | ChangeTopics | AlterConfigs | AlterCredentials | ChangeToken

SERVED: Final = (ChangeTopics, AlterConfigs, AlterCredentials, ChangeToken)
"""The updates that are the services' to make: one awaitable for all their items."""


def begun(
    update: Update,
    services: Services,
    authorizer: GuardedAuthorizer | None,
    loop: asyncio.AbstractEventLoop,
) -> Items[Any]:
    """Start an update; return its items.

    Raises:
        ApiError: SECURITY_DISABLED, where ACLs shall change and there is no authorizer.

    """
    outcome, context = update.outcome, update.context
    if isinstance(outcome, CreateAcls):
        created = _present(authorizer).create_acls(context.authorizable, outcome.bindings)
        return Items(created, AclCreateResult, loop, is_create_result)
    if isinstance(outcome, DeleteAcls):
        deleted = _present(authorizer).delete_acls(context.authorizable, outcome.filters)
        return Items(deleted, AclDeleteResult, loop, is_delete_result)
    if isinstance(outcome, ChangeToken):
        changed = services.change_token(outcome, context)
        return Items([changed], lambda error: [error], loop)
    count = count_of(outcome)
    made: Any
    if isinstance(outcome, ChangeTopics):
        made = services.change_topics(outcome, context)
    elif isinstance(outcome, AlterConfigs):
        made = services.alter_configs(outcome, context)
    else:
        made = services.alter_credentials(outcome, context)
    return Items([made], lambda error: [error] * count, loop)


def count_of(outcome: Outcome) -> int:
    """Return how many results an update has."""
    match outcome:
        case CreateAcls():
            return len(outcome.bindings)
        case DeleteAcls():
            return len(outcome.filters)
        case ChangeTopics():
            return len(outcome.created) + len(outcome.deleted)
        case AlterConfigs():
            return len(outcome.resources)
        case AlterCredentials():
            return len(outcome.users)
        case ChangeToken():
            return 1


def _present(authorizer: GuardedAuthorizer | None) -> GuardedAuthorizer:
    if authorizer is None:
        raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    return authorizer
