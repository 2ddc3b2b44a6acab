"""Whether a node answers for a partition, as its leader or as one of its replicas.

Source: ``ReplicaManager.getPartitionOrError``, ``Partition.checkCurrentLeaderEpoch`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.resources.cluster import Topic
from doorkeeper.server.resources.topics.placement import Places

LEADER_EPOCH: Final = 0
"""The epoch of every leader: no other has led before it, as far as clients can tell."""

UNKNOWN_EPOCH: Final = -1


def error_of_leader(
    topic: Topic | None, partition: int, places: Places, node_id: int, epoch: int = UNKNOWN_EPOCH
) -> ErrorCode:
    """Return why a node does not answer as the leader of a partition; NONE where it does.

    ``epoch`` is that of the leader whom the client knows.
    """
    error = error_of_replica(topic, partition, places, node_id, epoch)
    if error is not ErrorCode.NONE or topic is None:
        return error
    leads = places.of(topic, partition).leader == node_id
    return ErrorCode.NONE if leads else ErrorCode.NOT_LEADER_OR_FOLLOWER


def error_of_replica(
    topic: Topic | None, partition: int, places: Places, node_id: int, epoch: int = UNKNOWN_EPOCH
) -> ErrorCode:
    """Return why a node does not answer as a replica of a partition; NONE where it does."""
    if topic is None or not 0 <= partition < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if node_id not in places.of(topic, partition).replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if epoch in (UNKNOWN_EPOCH, LEADER_EPOCH):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if epoch < LEADER_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
