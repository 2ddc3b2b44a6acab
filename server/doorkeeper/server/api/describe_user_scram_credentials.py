"""DescribeUserScramCredentials (50), version 0: mechanisms and iterations of users.

Needs DESCRIBE on the cluster: 31 at the top, and once more, without a name, for each named user.
An empty list, or null, selects all users. A user named twice has one row, with 92; a user without
credentials has 91.

Source: ``KafkaApis.handleDescribeUserScramCredentialsRequest``, ``ScramImage.describe`` (4.3.1).
If a caller without the permission asks with null, a broker fails and never answers; here it gets
31.
"""

from __future__ import annotations

from collections import Counter

from doorkeeper.base.credentials import MECHANISM_CODES
from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

(_DESCRIBE,) = needs(DescribeUserScramCredentialsRequest.API_KEY)

_TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_NOT_THERE = "Attempt to describe a user credential that does not exist: "


def handle(
    request: DescribeUserScramCredentialsRequest, context: RequestContext, node: Node
) -> DescribeUserScramCredentialsResponse:
    if not is_allowed(node, context, _DESCRIBE):
        raise ApiError(_DESCRIBE.refusal)
    named = Counter(user.name for user in request.users or ())
    # A null or an empty list selects every user.
    counts = named or Counter(node.state.credentials.names())
    return DescribeUserScramCredentialsResponse(
        results=tuple(_result(user, count, node) for user, count in counts.items())
    )


def _result(user: str, count: int, node: Node) -> DescribeUserScramCredentialsResult:
    # One row for all occurrences, as from a broker, without the credentials.
    if count > 1:
        error = ApiError(ErrorCode.DUPLICATE_RESOURCE, _TWICE + user)
        return row_of(DescribeUserScramCredentialsResult, error, user=user)
    iterations_of = node.state.credentials.iterations_of(user)
    if not iterations_of:
        error = ApiError(ErrorCode.RESOURCE_NOT_FOUND, _NOT_THERE + user)
        return row_of(DescribeUserScramCredentialsResult, error, user=user)
    infos = (
        CredentialInfo(mechanism=MECHANISM_CODES[mechanism], iterations=iterations)
        for mechanism, iterations in iterations_of.items()
    )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=tuple(infos))


# A row for each user: 20,000 take 0.3 s.
API = declare(
    DescribeUserScramCredentialsRequest,
    handle,
    refuse_rows(DescribeUserScramCredentialsResponse),
    slow=True,
)
