"""Which brokers hold a partition, which of them leads it, and whether a node answers for it.

A partition keeps the brokers that it was assigned, and the first live one leads. There are no
records to copy, so each live broker is in sync. A partition without an assignment is placed among
all registered brokers: partitions go round them, and neighbours differ in their racks where the
brokers have racks.

Source: ``StripedReplicaPlacer`` of Kafka 4.3.1, which begins at a random broker instead, and
``PartitionChangeBuilder`` for eligible leader replicas; ``ReplicaManager.getPartitionOrError`` and
``Partition.checkCurrentLeaderEpoch`` for the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.schema.declared import StoredTopic

NO_LEADER: Final = -1


@lru_cache(4096)
def brokers_of(text: str) -> tuple[int, ...]:
    """Return the brokers that a row has for a partition; none where the server places it."""
    return tuple(map(int, text.split(","))) if text else ()


def text_of(brokers: Sequence[int]) -> str:
    """Return the brokers of a partition as they are stored."""
    return ",".join(map(str, brokers))


class Place(NamedTuple):
    """The brokers of a partition; ``replicas`` in the order of preference."""

    replicas: tuple[int, ...]
    leader: int
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


class Places:
    """The places of partitions among the registered brokers."""

    __slots__ = ("_fenced_ms", "_live", "_turn")

    def __init__(self, brokers: Sequence[Broker]) -> None:
        """Order the brokers: O(n log n)."""
        self._turn = in_turn(brokers)
        self._fenced_ms = {
            broker.node_id: broker.fenced_ms for broker in brokers if broker.fenced_ms is not None
        }
        self._live = frozenset(self._turn) - self._fenced_ms.keys()

    def of(self, topic: StoredTopic, partition: int) -> Place:
        """Return where a partition is."""
        rows = topic.assignments
        assigned = brokers_of(rows[partition]) if partition < len(rows) else ()
        if not assigned:
            assigned = _around(self._turn, partition)[: topic.replication_factor]
        in_sync = tuple(broker for broker in assigned if broker in self._live)
        if len(in_sync) == len(assigned):
            return Place(assigned, assigned[0], assigned, ())
        offline = tuple(broker for broker in assigned if broker not in self._live)
        return Place(assigned, in_sync[0] if in_sync else NO_LEADER, in_sync, offline)

    def eligible(self, replication: Place, min_in_sync: int) -> tuple[int, ...]:
        """Return the eligible leader replicas (KIP-966).

        These are the replicas that left while fewer than ``min_in_sync`` stayed behind.
        """
        count = len(replication.replicas)
        order = self._by_time_of_fencing(replication.offline)
        eligible = {
            broker
            for number, broker in enumerate(order, 1)
            if count - number < min(min_in_sync, count)
        }
        return tuple(broker for broker in replication.replicas if broker in eligible)

    def last_leader(self, replication: Place) -> tuple[int, ...]:
        """Return the broker that led a partition last; nothing while one leads."""
        if replication.leader != NO_LEADER:
            return ()
        return tuple(self._by_time_of_fencing(replication.offline)[-1:])

    def _by_time_of_fencing(self, brokers: Iterable[int]) -> list[int]:
        # The time of a broker that is no longer registered is unknown: assume that it left first.
        return sorted(brokers, key=lambda broker: self._fenced_ms.get(broker, 0))


def assignments(
    brokers: Sequence[Broker], first: int, count: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the brokers of new partitions from number ``first`` on; fenced ones come last.

    It is empty while one broker is registered: each of its partitions is there.
    """
    if len(brokers) == 1:
        return ()
    live = in_turn(broker for broker in brokers if not broker.is_fenced)
    fenced = in_turn(broker for broker in brokers if broker.is_fenced)
    return tuple(
        (*_around(live, partition), *_around(fenced, partition))[:factor]
        for partition in range(first, first + count)
    )


def _around(turn: Sequence[int], partition: int) -> tuple[int, ...]:
    start = partition % len(turn) if turn else 0
    return (*turn[start:], *turn[:start])


def in_turn(brokers: Iterable[Broker]) -> Sequence[int]:
    """Return the brokers' ids: the first of each rack, the second of each, and so on."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(brokers, key=lambda broker: broker.node_id):
        by_rack.setdefault(broker.rack or "", []).append(broker.node_id)
    racks = list(by_rack.values())
    longest = max(map(len, racks), default=0)
    return [rack[index] for index in range(longest) for rack in racks if index < len(rack)]


# --- whether a node answers for a partition

LEADER_EPOCH: Final = 0
"""The epoch of every leader: no other has led before it, as far as clients can tell."""

UNKNOWN_EPOCH: Final = -1


def error_of_leader(
    topic: StoredTopic | None,
    partition: int,
    places: Places,
    node_id: int,
    epoch: int = UNKNOWN_EPOCH,
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
    topic: StoredTopic | None,
    partition: int,
    places: Places,
    node_id: int,
    epoch: int = UNKNOWN_EPOCH,
) -> ErrorCode:
    """Return why a node does not answer as a replica of a partition; NONE where it does."""
    if topic is None or not 0 <= partition < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if node_id not in places.of(topic, partition).replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if epoch in (UNKNOWN_EPOCH, LEADER_EPOCH):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if epoch < LEADER_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
