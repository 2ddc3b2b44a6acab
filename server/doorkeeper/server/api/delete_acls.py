"""DeleteAcls (31), versions 0-3: removes the ACLs that filters match, in order.

Needs ALTER on the cluster.

    v0  knows LITERAL patterns only: it neither sees nor removes others
    v1  the pattern type (KIP-290)
    v2  flexible
    v3  the resource type USER; nothing refuses it in older versions

In this order: code 0 in any filter closes the connection; a caller without the permission gets 31
for every filter; without an authorizer every filter gets 54. All other checks are the authorizer's.
A filter that matches nothing is success; an ACL that two filters match is listed under both. The
ACLs under a filter are sorted.

Source: the broker's ``AclApis.handleDeleteAcls`` (4.3.1).
"""

from __future__ import annotations

from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.server.api.codes import UnknownElements, filter_of, filter_result
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Update, UpdateOperation, change_acls
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.authorizer.result_checks import DELETION
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

(_ALTER,) = needs(DeleteAclsRequest.API_KEY)


def handle(request: DeleteAclsRequest, context: RequestContext, node: Node) -> Update:
    for row in request.filters:
        if not (
            row.pattern_type_filter
            and row.resource_type_filter
            and row.operation
            and row.permission_type
        ):
            raise UnknownElements(row, "Filters contain UNKNOWN elements, filters: ")
    require_on_cluster(node, context, _ALTER)
    if node.authorizer is None:
        raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    filters = list(map(filter_of, request.filters))
    apply = partial(change_acls, DELETION, context.authorizable, filters)
    return Update(UpdateOperation.ACLS, apply, _respond, len(filters))


def _respond(results: Results) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=tuple(map(filter_result, results.values)))


def refuse(request: DeleteAclsRequest, version: int, error: BaseException) -> DeleteAclsResponse:
    """Answer the same error for every filter: the response has no error of its own."""
    row = row_of(DeleteAclsFilterResult, error)
    return DeleteAclsResponse(filter_results=(row,) * len(request.filters))


API = declare(DeleteAclsRequest, handle, refuse, on_controller=True)
