"""StreamsGroupDescribe (89), version 0: there are no groups of Kafka Streams (KIP-1071).

Needs DESCRIBE on each group (30). The groups without it come first; then those with an empty id,
which are 24. All others are 69 with a text, those of other types too. One node of a cluster shows
groups; the others answer 16 for each.

Source: ``KafkaApis.handleStreamsGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.typed_groups import declare_groups
from doorkeeper_wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

API = declare_groups(
    "streams",
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    DescribedGroup,
    # There is none whose members could be shown.
    lambda member, _node: member,
    max_version=0,
)
