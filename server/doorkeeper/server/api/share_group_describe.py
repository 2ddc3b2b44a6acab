"""ShareGroupDescribe (77), version 1: describes share groups (KIP-932), of which there are none.

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24. All others are 69 with a text, those of other types too. One node of a cluster shows
groups; the others answer 16 for each.

Source: ``KafkaApis.handleShareGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.permissions import needs
from doorkeeper.server.api.typed_groups import find_groups, refuse_groups
from doorkeeper_wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Node
    from doorkeeper.server.runtime.request_context import RequestContext

_DESCRIBE, _ = needs(ShareGroupDescribeRequest.API_KEY)


def handle(
    request: ShareGroupDescribeRequest, context: RequestContext, node: Node
) -> ShareGroupDescribeResponse:
    """Return an error for each group."""
    found = find_groups(request.group_ids, "share", _DESCRIBE, context, node)
    return ShareGroupDescribeResponse(
        groups=tuple(
            DescribedGroup(
                error_code=each.error.value, error_message=each.text, group_id=each.group_id
            )
            for each in found
        )
    )


API = declare(
    ShareGroupDescribeRequest, handle, refuse_groups(ShareGroupDescribeResponse, DescribedGroup)
)
