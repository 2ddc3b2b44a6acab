"""StreamsGroupDescribe (89), version 0: there are no groups of Kafka Streams (KIP-1071).

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24. All others are 69 with a text, those of other types too. One node of a cluster shows
groups; the others answer 16 for each.

Source: ``KafkaApis.handleStreamsGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.declaration import Api
from doorkeeper.api.permissions import needs
from doorkeeper.errors import answer_of
from doorkeeper.handlers.typed_groups import find_groups
from doorkeeper_wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

if TYPE_CHECKING:
    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext

_DESCRIBE, _ = needs(89)


def handle(
    request: StreamsGroupDescribeRequest, context: RequestContext, node: Node
) -> StreamsGroupDescribeResponse:
    """Return an error for each group."""
    found = find_groups(request.group_ids, "streams", _DESCRIBE, context, node)
    return StreamsGroupDescribeResponse(
        groups=tuple(
            DescribedGroup(
                error_code=each.error.value, error_message=each.text, group_id=each.group_id
            )
            for each in found
        )
    )


def refuse(
    request: StreamsGroupDescribeRequest,
    version: int,  # noqa: ARG001  the form of Api.refuse
    error: BaseException,
) -> StreamsGroupDescribeResponse:
    """Answer the same error for every group."""
    code, _ = answer_of(error)
    return StreamsGroupDescribeResponse(
        groups=tuple(
            DescribedGroup(error_code=code.value, group_id=each) for each in request.group_ids
        )
    )


API = Api(
    key=89,
    name="StreamsGroupDescribe",
    min_version=0,
    max_version=0,
    request=StreamsGroupDescribeRequest,
    handle=handle,
    refuse=refuse,
)
