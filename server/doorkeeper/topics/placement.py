"""Which brokers hold a partition, and which of them leads it.

A partition that was assigned keeps its brokers: the first that lives leads. Any other is placed
among the brokers that live: partitions go round them, and neighbours differ in their racks where
the brokers have racks.

Source: ``StripedReplicaPlacer`` of Kafka 4.3.1, which begins at a random broker instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.cluster.model import Broker, Topic

NO_LEADER: Final = -1


class Place(NamedTuple):
    """The brokers of a partition; ``replicas`` in the order of preference."""

    replicas: tuple[int, ...]
    leader: int
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


class Places:
    """The places of partitions among the brokers that live."""

    __slots__ = ("_live", "_turn")

    def __init__(self, brokers: Iterable[Broker]) -> None:
        """Order the brokers: O(n log n)."""
        self._turn = in_turn(brokers)
        self._live = frozenset(self._turn)

    def of(self, topic: Topic, partition: int) -> Place:
        """Return where a partition is."""
        assigned = topic.assignments[partition] if partition < len(topic.assignments) else ()
        if not assigned:
            count = len(self._turn)
            replicas = tuple(
                self._turn[(partition + offset) % count]
                for offset in range(min(topic.replication_factor, count))
            )
            return Place(replicas, replicas[0], replicas, ())
        in_sync = tuple(broker for broker in assigned if broker in self._live)
        if len(in_sync) == len(assigned):
            return Place(assigned, assigned[0], assigned, ())
        offline = tuple(broker for broker in assigned if broker not in self._live)
        return Place(assigned, in_sync[0] if in_sync else NO_LEADER, in_sync, offline)


def in_turn(brokers: Iterable[Broker]) -> Sequence[int]:
    """Return the brokers' ids: the first of each rack, the second of each, and so on."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(brokers, key=lambda each: each.node_id):
        by_rack.setdefault(broker.rack or "", []).append(broker.node_id)
    racks = list(by_rack.values())
    longest = max(map(len, racks), default=0)
    return [rack[index] for index in range(longest) for rack in racks if index < len(rack)]
