"""ElectLeaders (43), versions 0-2: elects leaders of partitions.

Needs ALTER on the cluster (31). The preferred broker leads wherever it lives, so that no election
is needed (84); where it does not, it cannot be elected (80), and without any broker that lives no
other can (83). Partitions that are not there are 3. All partitions (null) are answered with those
whose preferred broker is away.

    v1  the type of the election, and an error for the whole request     v2  flexible

A type that does not exist is 42 for the whole request.

Source: ``ReplicationControlManager.electLeaders`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.resources.topics.placement import NO_LEADER, Places
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

(_ALTER,) = needs(ElectLeadersRequest.API_KEY)

_PREFERRED, _UNCLEAN = 0, 1

_NOT_NEEDED: Final = "Leader election not needed for topic partition."
_PREFERRED_AWAY: Final = "The preferred leader was not available."
_NONE_ELIGIBLE: Final = "Eligible topic partition leaders are not available."


def handle(
    request: ElectLeadersRequest, context: RequestContext, node: Node
) -> ElectLeadersResponse:
    """Say of each partition why no other broker can lead it."""
    require_on_cluster(node, context, _ALTER)
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        text = f"Unknown election type {request.election_type}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    places = Places(node.registered_brokers(context.authorizable.listener_name))
    unclean = request.election_type == _UNCLEAN

    def row(
        name: str, topic: StoredTopic | None, indexes: Iterable[int], *omitted: int
    ) -> ReplicaElectionResult:
        results = []
        for index in indexes:
            code, text = _error_of(name, topic, index, places, unclean=unclean)
            if code not in omitted:
                result = PartitionResult(
                    partition_id=index, error_code=code.value, error_message=text
                )
                results.append(result)
        return ReplicaElectionResult(topic=name, partition_result=tuple(results))

    if request.topic_partitions is None:
        topics = [topic for topic in map(node.topics.get, node.topics.names()) if topic is not None]
        rows = [
            row(topic.name, topic, range(topic.partitions), ErrorCode.ELECTION_NOT_NEEDED)
            for topic in topics
        ]
    else:
        rows = [
            row(asked.topic, node.topics.get(asked.topic), asked.partitions)
            for asked in request.topic_partitions
        ]
    return ElectLeadersResponse(replica_election_results=tuple(rows))


def _error_of(
    name: str, topic: StoredTopic | None, index: int, places: Places, *, unclean: bool
) -> tuple[ErrorCode, str | None]:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    if not 0 <= index < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    replicas, leader, *_ = places.of(topic, index)
    if leader == replicas[0] or (unclean and leader != NO_LEADER):
        return ErrorCode.ELECTION_NOT_NEEDED, _NOT_NEEDED
    if unclean:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, _NONE_ELIGIBLE
    return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, _PREFERRED_AWAY


_refuse_rows: Final = refuse_rows(ElectLeadersResponse)


def refuse(
    request: ElectLeadersRequest, version: int, error: BaseException
) -> ElectLeadersResponse:
    """Answer the same error for the request, from version 1 on, and for every partition."""
    response = _refuse_rows(request, version, error)
    assert isinstance(response, ElectLeadersResponse), "of this API"
    return response if version >= 1 else response.replace(error_code=0)


API = declare(ElectLeadersRequest, handle, refuse, on_controller=True)
