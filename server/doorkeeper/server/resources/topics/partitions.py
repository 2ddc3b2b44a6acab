"""How topics get more partitions, and how partitions move to other brokers.

They move at once, as they hold no records.

Source: the controller's ``ReplicationControlManager.createPartitions`` and
``alterPartitionReassignments`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.topics.creation import (
    PARTITIONS_PER_REQUEST_MAX,
    check_any_lives,
    check_replicas,
)
from doorkeeper.server.resources.topics.placement import assignments, brokers_of, text_of
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.change import Change, edit, too_large
from doorkeeper.server.schema.declared import TOPIC, StoredTopic
from doorkeeper_wire.messages.alter_partition_reassignments import (
    ReassignablePartition,
    ReassignableTopic,
)
from doorkeeper_wire.messages.create_partitions import CreatePartitionsTopic


def plan_partitions(
    topics: Topics, desired: Sequence[CreatePartitionsTopic], brokers: Sequence[Broker]
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
        room -= topic_request.count - topic.partitions
        rows.append(_grown_row(topic, topic_request, brokers))
        errors.append(None)
    return edit(TOPIC, set=rows), errors


def _topic_to_grow(
    topic: StoredTopic | None, desired: CreatePartitionsTopic, brokers: Sequence[Broker], room: int
) -> StoredTopic:
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if desired.count == topic.partitions:
        text = f"Topic already has {topic.partitions} partition(s)."
        raise ApiError(ErrorCode.INVALID_PARTITIONS, text)
    if desired.count < topic.partitions:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {topic.partitions} partition(s);"
            f" {desired.count} would not be an increase.",
        )
    if desired.assignments is not None:
        chosen = [row.broker_ids for row in desired.assignments]
        _check_assignments(topic, desired.count, chosen, brokers)
    if desired.count - topic.partitions > room:
        raise too_large()
    return topic


def _check_assignments(
    topic: StoredTopic, count: int, chosen: Sequence[Sequence[int]], brokers: Sequence[Broker]
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


def _grown_row(
    topic: StoredTopic, desired: CreatePartitionsTopic, brokers: Sequence[Broker]
) -> StoredTopic:
    if desired.assignments is None:
        count = desired.count - topic.partitions
        added = assignments(brokers, topic.partitions, count, topic.replication_factor)
    else:
        added = tuple(row.broker_ids for row in desired.assignments)
    if not added:
        return replace(topic, partitions=desired.count)
    unassigned = ("",) * (topic.partitions - len(topic.assignments))
    all_assignments = (*topic.assignments, *unassigned, *map(text_of, added))
    return replace(topic, partitions=desired.count, assignments=all_assignments)


def plan_reassignments(
    topics: Topics,
    requested: Sequence[ReassignableTopic],
    brokers: Sequence[Broker],
    *,
    may_resize: bool,
) -> tuple[Change, list[ApiError | None]]:
    """Return the change that moves partitions, and for each why it stays, or None.

    ``may_resize`` allows another number of replicas.
    """
    rows: dict[str, StoredTopic] = {}
    errors: list[ApiError | None] = []
    for asked in requested:
        topic = topics.get(asked.name)
        for partition in asked.partitions:
            try:
                replicas = _replicas(topic, asked.name, partition, brokers, may_resize=may_resize)
            except ApiError as error:
                errors.append(error)
                continue
            assert topic is not None, "refused by _replicas"
            row = rows.get(asked.name) or topic
            rows[asked.name] = _row_after(row, partition.partition_index, replicas)
            errors.append(None)
    return edit(TOPIC, set=rows.values()), errors


def _replicas(
    topic: StoredTopic | None,
    name: str,
    asked: ReassignablePartition,
    brokers: Sequence[Broker],
    *,
    may_resize: bool,
) -> tuple[int, ...]:
    """Return the brokers that shall hold a partition."""
    partition, replicas = asked.partition_index, asked.replicas
    if topic is None:
        text = f"Unable to find a topic named {name}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if not 0 <= partition < topic.partitions:
        text = f"Unable to find partition {name}:{partition}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if replicas is None:
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    check_replicas(replicas, None, brokers)
    present = "".join(topic.assignments[partition : partition + 1])
    count = len(brokers_of(present)) or topic.replication_factor
    if not may_resize and len(replicas) != count:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {count} to {len(replicas)}",
        )
    return replicas


def _row_after(row: StoredTopic, partition: int, replicas: Sequence[int]) -> StoredTopic:
    assignments = [*row.assignments, *[""] * (partition + 1 - len(row.assignments))]
    assignments[partition] = text_of(replicas)
    return replace(row, assignments=tuple(assignments))
