"""DescribeAcls (29), versions 0-3: the stored ACLs that a filter selects.

Needs DESCRIBE on the cluster.

    v0  knows LITERAL patterns only; the pattern type of the filter is LITERAL
    v1  the pattern type (KIP-290): ANY for all, MATCH for every pattern that covers the name
    v2  flexible
    v3  the resource type USER; nothing refuses it in older versions

In this order: code 0 in the filter closes the connection; a caller without the permission gets 31;
without an authorizer the answer is 54. An unknown code is a filter that matches nothing. The answer
has one row for each resource pattern and is sorted; it is never cut into pages.

Source: the broker's ``AclApis.handleDescribeAcls`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.codes import UnknownElements, filter_of, resource_rows
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.runtime.request_context import RequestContext

(_DESCRIBE,) = needs(DescribeAclsRequest.API_KEY)


def handle(request: DescribeAclsRequest, context: RequestContext, node: Node) -> Response:
    if not (
        request.pattern_type_filter
        and request.resource_type_filter
        and request.operation
        and request.permission_type
    ):
        raise UnknownElements(request, "DescribeAclsRequest contains UNKNOWN elements: ")
    require_on_cluster(node, context, _DESCRIBE)
    if node.authorizer is None:
        raise ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    filter = filter_of(request)
    version = context.authorizable.request_version
    if node.acl_rows is not None and (answer := node.acl_rows.answer(filter, version)):
        return answer
    return DescribeAclsResponse(
        error_message="", resources=resource_rows(node.authorizer.acls(filter))
    )


API = declare(
    DescribeAclsRequest,
    handle,
    refuse_as(DescribeAclsResponse),
    on_controller=True,
    # It has no array, and the rows that it shares with other requests are built on the event loop.
    in_thread=False,
)
