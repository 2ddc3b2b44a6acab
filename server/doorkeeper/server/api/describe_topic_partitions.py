"""DescribeTopicPartitions (75), version 0: topics and their partitions, in pages (KIP-966).

Needs DESCRIBE on each topic. A named topic without it is answered with 29 after all others; a list
of all topics leaves it out. Both are logged as denials. Masks are always computed.

Topics are sorted by name. The size of a page is the requested number of partitions, at least 1 and
at most ``max.request.partition.size.limit``; the cursor names the next topic and partition.
Refusals do not count: every page has all of them from its first name on.

A cursor must name a topic of the list, if there is one, and no negative partition (42). The empty
name fails the request of a caller that may describe it (-1), as on a broker, which takes it for the
name of an absent cursor.

Source: ``DescribeTopicPartitionsRequestHandler`` and ``KRaftMetadataCache`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import sort
from doorkeeper.server.api.declaration import declare, no_text, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import authorized_operations, is_allowed, needs
from doorkeeper.server.config.keys import MAX_REQUEST_PARTITION_SIZE_LIMIT
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.resources.settings.topic import effective
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS, error_of_missing
from doorkeeper.server.resources.topics.placement import Places
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

_DESCRIBE_NAMED, _DESCRIBE_ALL = needs(DescribeTopicPartitionsRequest.API_KEY)


def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext, node: Node
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    names = _names(request, node)
    allowed, refused = [], []
    need = _DESCRIBE_NAMED if request.topics else _DESCRIBE_ALL
    for name in names:
        if is_allowed(node, context, need, name):
            allowed.append(name)
        # In a list of all topics a refused one is left out.
        elif need.refusal is not ErrorCode.NONE:
            refused.append(_refusal(name, need.refusal))

    # A broker takes the empty name for that of an absent cursor, and fails.
    if cursor is None and "" in allowed:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "found an empty topic name and no cursor")

    places = Places(node.registered_brokers(context.authorizable.listener_name))
    limit = min(node.settings[MAX_REQUEST_PARTITION_SIZE_LIMIT], request.response_partition_limit)
    # At least one partition, or a client would get empty pages for ever.
    page, next_cursor = _page(allowed, cursor, max(limit, 1), node)
    masks = authorized_operations(node, context, ResourceType.TOPIC, [name for name, _, _ in page])
    described = [
        _missing(name, masks[name])
        if topic is None
        else _describe(topic, indexes, places, masks[name], node.settings)
        for name, topic, indexes in page
    ]
    return DescribeTopicPartitionsResponse(topics=(*described, *refused), next_cursor=next_cursor)


def _page(
    names: Sequence[str], cursor: Cursor | None, remaining: int, node: Node
) -> tuple[list[tuple[str, StoredTopic | None, range]], Cursor | None]:
    """Return the rows of the page (name, topic if it exists, partitions) and the next cursor."""
    page: list[tuple[str, StoredTopic | None, range]] = []
    for name in names:
        if remaining == 0:
            return page, Cursor(topic_name=name, partition_index=0)
        topic = node.topics.get(name)
        if topic is None:
            page.append((name, None, range(0)))
            continue
        begin = cursor.partition_index if cursor and cursor.topic_name == name else 0
        end = min(topic.partitions, begin + remaining)
        page.append((name, topic, range(begin, end)))
        # A cursor may point past the last partition: such a topic has an empty row.
        remaining -= max(end - begin, 0)
        if end < topic.partitions:
            return page, Cursor(topic_name=name, partition_index=end)
    return page, None


def _names(request: DescribeTopicPartitionsRequest, node: Node) -> list[str]:
    """Return the names from the cursor on, sorted.

    Raises:
        ApiError: INVALID_REQUEST where the cursor's topic is not in the list, or its partition
            is negative.
    """
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    if request.topics:
        names = sort({topic.name for topic in request.topics if topic.name >= first})
    else:
        names = [name for name in node.topics.names() if name >= first]
    if cursor is None:
        return names
    if request.topics and first not in names:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {first}",
        )
    if cursor.partition_index < 0:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor}",
        )
    return names


def _describe(
    topic: StoredTopic, indexes: Iterable[int], places: Places, mask: int, settings: Settings
) -> DescribeTopicPartitionsResponseTopic:
    configs = effective(topic.configs, settings.values_of)
    min_in_sync = int(configs["min.insync.replicas"][0] or 1)
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(_partition(topic, index, places, min_in_sync) for index in indexes),
        topic_authorized_operations=mask,
    )


def _partition(
    topic: StoredTopic, index: int, places: Places, min_in_sync: int
) -> DescribeTopicPartitionsResponsePartition:
    replication = places.of(topic, index)
    replicas, leader, in_sync, offline = replication
    return DescribeTopicPartitionsResponsePartition(
        error_code=0 if in_sync else ErrorCode.LEADER_NOT_AVAILABLE.value,
        partition_index=index,
        leader_id=leader,
        # Leaders never change: they are computed from the partition's index.
        leader_epoch=0,
        replica_nodes=replicas,
        isr_nodes=in_sync,
        eligible_leader_replicas=places.eligible(replication, min_in_sync),
        last_known_elr=places.last_leader(replication),
        offline_replicas=offline,
    )


def _missing(name: str, mask: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error_of_missing(name).value,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=mask,
    )


def _refusal(name: str, code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=code.value, name=name)


API = declare(
    DescribeTopicPartitionsRequest, handle, refuse_rows(DescribeTopicPartitionsResponse, no_text)
)
