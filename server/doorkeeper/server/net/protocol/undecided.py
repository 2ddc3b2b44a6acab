"""The error of a request whose authorizer does not know its decision in time.

It is one that clients retry, which no error of a denial is. Each API has one that its callers in
Java's clients, librdkafka and kafka-python expect from a broker, and answer with another attempt:
they look for the leader, coordinator or controller anew, and find this node again.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper_wire.api_keys import ApiKey

TEXT: Final = "The authorizer does not know its decision yet. Nothing was done: try again."

_CODES: Final[dict[int, ErrorCode]] = {
    ApiKey.METADATA: ErrorCode.LEADER_NOT_AVAILABLE,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ErrorCode.LEADER_NOT_AVAILABLE,
    ApiKey.FIND_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ApiKey.LIST_GROUPS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ApiKey.PRODUCE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.FETCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.LIST_OFFSETS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.DELETE_RECORDS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.DESCRIBE_PRODUCERS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    # Not NOT_COORDINATOR: without a transactional id there is none, and kafka-python 3 asks for it.
    ApiKey.INIT_PRODUCER_ID: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ApiKey.ADD_PARTITIONS_TO_TXN: ErrorCode.NOT_COORDINATOR,
}

_OF_COORDINATORS: Final = frozenset({"GROUP", "TRANSACTIONAL_ID"})


def undecided(api_key: int) -> ApiError:
    """Return the error for a request of an API."""
    code = _CODES.get(api_key)
    if code is None:
        resources = [each.resource for each in REQUIRED[api_key][:1]]
        is_of_coordinator = not _OF_COORDINATORS.isdisjoint(resources)
        code = ErrorCode.NOT_COORDINATOR if is_of_coordinator else ErrorCode.NOT_CONTROLLER
    return ApiError(code, TEXT)
