"""Metadata (3), versions 0-13: the nodes, the topics, their partitions.

Needs DESCRIBE on each topic; a named topic without it is answered with 29 and nothing else, whether
it exists or not. A list of all topics omits it, without a line in the authorizer log.

    v0   an empty list means all topics
    v1   null means all topics, an empty list none; racks, the controller, internal topics
    v2   the cluster's id
    v4   the client says whether topics may be created; before, they always may
    v5   offline replicas
    v7   leader epochs
    v8   masks of authorized operations, of topics and (to v10) of the cluster
    v9   flexible
    v10  topic ids in the answer
    v12  topics by id
    v13  an error for the whole answer

If any topic is requested by id, names are ignored. An unknown id is answered with 100, the id of a
topic that the caller may not describe with 29 and no name.

A missing topic is created, if ``auto.create.topics.enable`` and the client allow it, for a caller
with CREATE on the cluster, else on the topic (else 29). It is answered with 3 all the same: the
client retries. An illegal name is answered with 17.

Topics come in this order: unknown ids; those that exist; those that do not; those that may not be
created; those that may not be described; each part sorted by name.

Codes: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED,
100 UNKNOWN_TOPIC_ID.

Source: ``handleTopicMetadataRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.base.slices import counts, sort
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import (
    OPERATIONS_NOT_COMPUTED,
    allowed_names,
    authorized_operations,
    cluster_operations,
    is_allowed,
    needs,
)
from doorkeeper.server.config.keys import AUTO_CREATE_TOPICS_ENABLE
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.topics.creation import created_automatically
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS, error_of_missing
from doorkeeper.server.resources.topics.placement import Places
from doorkeeper.server.resources.topics.plans import plan_creation
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_DESCRIBE, _DESCRIBE_ALL, _CREATE_ON_CLUSTER, _CREATE, _DESCRIBE_CLUSTER = needs(
    MetadataRequest.API_KEY
)

ZERO_ID = bytes(16)


def handle(request: MetadataRequest, context: RequestContext, node: Node) -> Outcome:
    version = context.authorizable.request_version
    # Version 0 has no null: there an empty list means all topics.
    wants_all = request.topics is None or (version == 0 and not request.topics)
    ids = _ids(request, version)
    unknown_ids = [topic_id for topic_id in ids if node.topics.by_id(topic_id) is None]
    names = list(node.topics.names()) if wants_all else _names(request, node, ids)
    describable = allowed_names(node, context, _DESCRIBE_ALL if wants_all else _DESCRIBE, names)
    shown = [name for name in names if name in describable]
    # Only topics that the caller may describe: others must not be created by asking for them.
    missing = [name for name in shown if node.topics.get(name) is None]
    # The client's flag exists from version 4 on; before, its default is true.
    may_create = request.allow_auto_topic_creation and node.settings[AUTO_CREATE_TOPICS_ENABLE]
    not_creatable = _not_creatable(node, context, missing) if may_create and missing else set()
    missing = [name for name in missing if name not in not_creatable]
    cluster_mask = OPERATIONS_NOT_COMPUTED
    # KIP-430 added the cluster's mask to Metadata, KIP-700 moved it to DescribeCluster.
    if 8 <= version <= 10 and request.include_cluster_authorized_operations:
        cluster_mask = cluster_operations(node, context, _DESCRIBE_CLUSTER)
    registered = node.registered_brokers(context.authorizable.listener_name)
    places = Places(registered)
    existing = [topic for topic in map(node.topics.get, shown) if topic is not None]
    masks: dict[str, int] = {}
    if version >= 8 and request.include_topic_authorized_operations:
        asked = [*(topic.name for topic in existing), *missing]
        masks = authorized_operations(node, context, ResourceType.TOPIC, asked)
    topics = [
        *(_refusal(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id) for topic_id in unknown_ids),
        *_described(existing, places, masks, version),
        *(_missing(name, masks.get(name, OPERATIONS_NOT_COMPUTED)) for name in missing),
        *(
            _refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name, internal=name in INTERNAL_TOPICS)
            for name in sort(not_creatable)
        ),
    ]
    # In a list of all topics a hidden topic is left out; named ones get 29.
    if not wants_all:
        hidden = (name for name in names if name not in describable)
        topics.extend(_hidden_topic(node, name, by_id=bool(ids)) for name in hidden)
    response = MetadataResponse(
        brokers=tuple(_broker(broker) for broker in registered if not broker.is_fenced),
        cluster_id=node.cluster_id,
        controller_id=node.controller_id,
        topics=tuple(topics),
        cluster_authorized_operations=cluster_mask,
    )
    created = created_automatically(missing, node, registered) if may_create else ()
    if not created:
        return response
    update = Update.of_plan(
        UpdateOperation.TOPICS,
        lambda state: plan_creation(state.topics, created),
        context,
        lambda _: response,
    )
    # The response says 3 either way, so the client does not wait for the store.
    return replace(update, wait=False)


def _ids(request: MetadataRequest, version: int) -> list[bytes]:
    """Return the distinct topic ids asked for, sorted.

    Raises:
        ApiError: INVALID_REQUEST where the version knows no ids, or no topics without name.
    """
    topics = request.topics or ()
    if version < 12:
        for topic in topics:
            if topic.name is None:
                text = f"Topic name can not be null for version {version}"
                raise ApiError(ErrorCode.INVALID_REQUEST, text)
            if topic.topic_id != ZERO_ID:
                text = f"Topic IDs are not supported in requests for version {version}"
                raise ApiError(ErrorCode.INVALID_REQUEST, text)
    return sort({topic.topic_id for topic in topics} - {ZERO_ID})


def _names(request: MetadataRequest, node: Node, ids: Iterable[bytes]) -> list[str]:
    """Return the distinct names meant, sorted.

    Raises:
        ApiError: UNKNOWN_SERVER_ERROR for a topic with neither name nor id, as on a broker.
    """
    by_id = [topic.name for topic in map(node.topics.by_id, ids) if topic is not None]
    if ids:
        # A set: two ids cannot have one name, but a client may repeat an id.
        return sort(counts(by_id))
    names = {topic.name for topic in request.topics or ()}
    if None in names:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "a topic has neither name nor id")
    return sort(name for name in names if name is not None)


def _not_creatable(node: Node, context: RequestContext, missing: Sequence[str]) -> set[str]:
    if is_allowed(node, context, _CREATE_ON_CLUSTER):
        return set()
    creatable = allowed_names(node, context, _CREATE, missing)
    return {name for name in missing if name not in creatable}


def _described(
    topics: Iterable[StoredTopic], places: Places, masks: Mapping[str, int], version: int
) -> Iterable[MetadataResponseTopic]:
    # Most topics of a cluster have their partitions where many others have them.
    by_layout: dict[tuple[Any, ...], tuple[MetadataResponsePartition, ...]] = {}
    for topic in topics:
        key = topic.partitions, topic.replication_factor, topic.assignments
        partitions = by_layout.get(key)
        if partitions is None:
            partitions = by_layout[key] = tuple(_partitions(topic, places, version))
        yield MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=partitions,
            topic_authorized_operations=masks.get(topic.name, OPERATIONS_NOT_COMPUTED),
        )


def _partitions(
    topic: StoredTopic, places: Places, version: int
) -> Iterable[MetadataResponsePartition]:
    for index in range(topic.partitions):
        replicas, leader, in_sync, offline = places.of(topic, index)
        error = ErrorCode.NONE if in_sync else ErrorCode.LEADER_NOT_AVAILABLE
        # Clients of version 0 look up each replica among the brokers of the response.
        if version == 0 and offline:
            replicas = in_sync
            error = ErrorCode.REPLICA_NOT_AVAILABLE if in_sync else error
        yield MetadataResponsePartition(
            error_code=error.value,
            partition_index=index,
            leader_id=leader,
            # Leaders never change: they are computed from the partition's index.
            leader_epoch=0,
            replica_nodes=replicas,
            isr_nodes=in_sync,
            offline_replicas=offline,
        )


def _missing(name: str, mask: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error_of_missing(name).value,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=mask,
    )


def _hidden_topic(node: Node, name: str, *, by_id: bool) -> MetadataResponseTopic:
    # A client that asked by id must not learn the name.
    topic = node.topics.get(name) if by_id else None
    if topic is None:
        return _refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    return _refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic.topic_id)


def _refusal(
    code: ErrorCode, name: str | None, topic_id: bytes = ZERO_ID, *, internal: bool = False
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code.value, name=name, topic_id=topic_id, is_internal=internal
    )


def _broker(broker: Broker) -> MetadataResponseBroker:
    return MetadataResponseBroker(
        node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
    )


def refuse(request: MetadataRequest, version: int, error: BaseException) -> MetadataResponse:
    """Answer an error in every requested row and (from v13) at the top; the rest is empty."""
    code, _ = answer_of(error)
    return MetadataResponse(
        error_code=code.value,
        topics=tuple(
            MetadataResponseTopic(
                error_code=code.value, name=topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ),
    )


API = declare(MetadataRequest, handle, refuse)
