"""How topics get more partitions.

Source: the controller's ``ReplicationControlManager.createPartitions`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Broker, Topic
from doorkeeper.server.resources.topics.creation import (
    PARTITIONS_PER_REQUEST_MAX,
    check_any_lives,
    check_replicas,
)
from doorkeeper.server.resources.topics.placement import assignments
from doorkeeper.server.resources.topics.table import Topics, row_of, text_of
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic


class WantedPartitions(Struct, frozen=True):
    """How many partitions a topic shall have.

    ``assignments`` are the brokers of each new one; None lets the server place them.
    """

    name: str
    total: int
    assignments: tuple[tuple[int, ...], ...] | None = None


def plan_partitions(
    topics: Topics, desired: Sequence[WantedPartitions], brokers: Sequence[Broker]
) -> tuple[Change, list[ApiError | None]]:
    """Return the change that adds partitions, and for each topic why it gets none, or None."""
    errors: list[ApiError | None] = []
    rows: list[StoredTopic] = []
    room = PARTITIONS_PER_REQUEST_MAX
    for topic_request in desired:
        try:
            topic = _topic_to_grow(topics.get(topic_request.name), topic_request, brokers, room)
        except ApiError as error:
            errors.append(error)
            continue
        room -= topic_request.total - topic.partitions
        rows.append(_grown_row(topic, topic_request, brokers))
        errors.append(None)
    return edit(TOPIC, set=rows), errors


def _topic_to_grow(
    topic: Topic | None, desired: WantedPartitions, brokers: Sequence[Broker], room: int
) -> Topic:
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if desired.total == topic.partitions:
        text = f"Topic already has {topic.partitions} partition(s)."
        raise ApiError(ErrorCode.INVALID_PARTITIONS, text)
    if desired.total < topic.partitions:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {topic.partitions} partition(s);"
            f" {desired.total} would not be an increase.",
        )
    if desired.assignments is not None:
        _check_assignments(topic, desired.total, desired.assignments, brokers)
    if desired.total - topic.partitions > room:
        text = "Unable to perform excessively large batch operation."
        raise ApiError(ErrorCode.POLICY_VIOLATION, text)
    return topic


def _check_assignments(
    topic: Topic, count: int, chosen: Sequence[Sequence[int]], brokers: Sequence[Broker]
) -> None:
    added = count - topic.partitions
    if len(chosen) != added:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(chosen)}"
            " assignment(s) were specified.",
        )
    for replicas in chosen:
        check_replicas(replicas, topic.replication_factor, brokers)
    for partition, replicas in enumerate(chosen, topic.partitions):
        check_any_lives(partition, replicas, brokers)


def _grown_row(topic: Topic, desired: WantedPartitions, brokers: Sequence[Broker]) -> StoredTopic:
    row = row_of(topic)
    added = desired.assignments
    if added is None:
        count = desired.total - topic.partitions
        added = assignments(brokers, topic.partitions, count, topic.replication_factor)
    if not added:
        return replace(row, partitions=desired.total)
    unassigned = ("",) * (topic.partitions - len(row.assignments))
    every = (*row.assignments, *unassigned, *map(text_of, added))
    return replace(row, partitions=desired.total, assignments=every)
