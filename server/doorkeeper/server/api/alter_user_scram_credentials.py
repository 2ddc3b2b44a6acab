"""AlterUserScramCredentials (51), version 0: sets and deletes SCRAM credentials of users.

Needs ALTER on the cluster (31 for every user). Every user of a deletion or an upsertion has one
row; a user named twice gets 92 and is not changed. The client hashes the password and never sends
it.

    91  a credential to delete that does not exist
    93  no name; fewer than 4,096 or more than 16,384 iterations
    33  a mechanism that is neither 1 (SCRAM-SHA-256) nor 2 (SCRAM-SHA-512)

Source: ``ControllerApis.handleAlterUserScramCredentials``, ``ScramControlManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, row_of
from doorkeeper.base.slices import sort
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.resources.users import plan_credentials, users_in
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

(_ALTER,) = needs(AlterUserScramCredentialsRequest.API_KEY)


def handle(
    request: AlterUserScramCredentialsRequest, context: RequestContext, node: Node
) -> Outcome:
    require_on_cluster(node, context, _ALTER)
    deletions, upsertions = request.deletions, request.upsertions
    users = users_in(deletions, upsertions)
    respond = partial(_respond, users)
    # An empty request is a success; a transaction would cost a sync of the disk.
    if not users:
        return respond({})
    return Update.of_plan(
        UpdateOperation.CREDENTIALS,
        lambda state: plan_credentials(state.credentials, deletions, upsertions),
        context,
        respond,
    )


def _respond(
    users: Sequence[str], errors: Mapping[str, ApiError]
) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=tuple(
            row_of(AlterUserScramCredentialsResult, errors.get(user), user=user) for user in users
        )
    )


def refuse(
    request: AlterUserScramCredentialsRequest, version: int, error: BaseException
) -> AlterUserScramCredentialsResponse:
    """Answer the same error for every user, sorted, as a broker sorts them."""
    users = sort(users_in(request.deletions, request.upsertions))
    return AlterUserScramCredentialsResponse(
        results=tuple(row_of(AlterUserScramCredentialsResult, error, user=user) for user in users)
    )


API = declare(AlterUserScramCredentialsRequest, handle, refuse, on_controller=True)
