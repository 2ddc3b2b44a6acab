"""The assignors of a consumer group: which member gets which partition.

    uniform  the same number for each member, with as few moves as possible
    range    a run of partitions of each topic for each member, the same of topics of one size

Those of share groups may give a partition to several members: see ``assign_shared``.

Source: the behaviour of ``UniformAssignor``, ``RangeAssignor`` and ``SimpleAssignor`` of Kafka
4.3.1. Which partition moves where several would do may differ from a broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct


class Partition(NamedTuple):
    """A partition of a topic."""

    topic_id: bytes
    number: int


Partitions = frozenset[Partition]
NO_PARTITIONS: Final[Partitions] = frozenset()


class Subscriber(Struct, frozen=True):
    """A member as an assignor sees it: its topics, and its target so far."""

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    target: Partitions


Targets = dict[str, Partitions]
"""The partitions that each member shall have, by its id."""


def assign_range(members: Sequence[Subscriber], sizes: Mapping[bytes, int]) -> Targets:
    """Return a run of the partitions of each topic for each member; static members come first.

    ``sizes`` are the numbers of partitions by topic.
    """
    targets: dict[str, set[Partition]] = {each.member_id: set() for each in members}
    ordered = sorted(members, key=_static_first)
    for topic_id, size in sizes.items():
        readers = [each for each in ordered if topic_id in each.topic_ids]
        start = 0
        for place, reader in enumerate(readers):
            share, extra = divmod(size, len(readers))
            end = start + share + (place < extra)
            targets[reader.member_id].update(Partition(topic_id, at) for at in range(start, end))
            start = end
    return {member_id: frozenset(found) for member_id, found in targets.items()}


def _static_first(member: Subscriber) -> tuple[bool, str]:
    if member.instance_id is not None:
        return False, member.instance_id
    return True, member.member_id


def assign_uniform(members: Sequence[Subscriber], sizes: Mapping[bytes, int]) -> Targets:
    """Return balanced targets: members give only as much as balance needs."""
    targets: dict[str, set[Partition]] = {each.member_id: set() for each in members}
    readers = {
        topic_id: sorted(each.member_id for each in members if topic_id in each.topic_ids)
        for topic_id in sizes
    }
    free = {Partition(topic_id, at) for topic_id, size in sizes.items() for at in range(size)}
    for member in members:
        kept = {each for each in member.target & free if each.topic_id in member.topic_ids}
        targets[member.member_id] = kept
        free -= kept
    # Those that few members can take come first.
    for partition in sorted(free, key=lambda each: (len(readers[each.topic_id]), each)):
        if readers[partition.topic_id]:
            _least(targets, readers[partition.topic_id]).add(partition)
    while _balance(targets, readers):
        pass
    return {member_id: frozenset(found) for member_id, found in targets.items()}


def assign_shared(members: Sequence[Subscriber], sizes: Mapping[bytes, int]) -> Targets:
    """Return balanced targets in which members that have no partition of their own share one."""
    targets = assign_uniform(members, sizes)
    readers = Counter(partition for found in targets.values() for partition in found)
    for member in sorted(members, key=lambda each: each.member_id):
        if targets[member.member_id]:
            continue
        possible = [each for each in readers if each.topic_id in member.topic_ids]
        if possible:
            partition = min(possible, key=lambda each: (readers[each], each))
            readers[partition] += 1
            targets[member.member_id] = frozenset([partition])
    return targets


def _least(targets: Mapping[str, set[Partition]], of: Sequence[str]) -> set[Partition]:
    return targets[min(of, key=lambda member_id: len(targets[member_id]))]


def _balance(targets: Mapping[str, set[Partition]], readers: Mapping[bytes, Sequence[str]]) -> bool:
    """Move partitions from members that have at least two more; return whether one was moved."""
    is_moved = False
    for own in sorted(targets.values(), key=len, reverse=True):
        for partition in sorted(own, reverse=True):
            least = _least(targets, readers[partition.topic_id])
            if len(own) - len(least) >= 2:
                own.remove(partition)
                least.add(partition)
                is_moved = True
    return is_moved


ASSIGNORS: Final[Mapping[str, Callable[[Sequence[Subscriber], Mapping[bytes, int]], Targets]]] = {
    "uniform": assign_uniform,
    "range": assign_range,
}
"""The assignors by name, the default one first."""
