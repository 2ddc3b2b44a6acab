"""StreamsGroupDescribe (89), version 0: there are no groups of Kafka Streams (KIP-1071).

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24. All others are 69 with a text, those of other types too. One node of a cluster shows
groups; the others answer 16 for each.

Source: ``KafkaApis.handleStreamsGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.server.api.declaration import declare, no_text, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import needs
from doorkeeper.server.api.typed_groups import TypedGroups
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

# There is none whose members, or their topics, could be shown.
_GROUPS: Final = TypedGroups(
    "streams",
    needs(StreamsGroupDescribeRequest.API_KEY),
    DescribedGroup,
    member=lambda member, _node: member,
    topics_of=lambda _group: frozenset(),
)


def handle(
    request: StreamsGroupDescribeRequest, context: RequestContext, node: Node
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(groups=_GROUPS.describe(request, context, node))


API = declare(
    StreamsGroupDescribeRequest,
    handle,
    refuse_rows(StreamsGroupDescribeResponse, no_text),
    max_version=0,
)
