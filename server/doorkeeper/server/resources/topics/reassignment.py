"""How partitions move to other brokers: at once, as they hold no records.

Source: the controller's ``ReplicationControlManager.alterPartitionReassignments`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.cluster import Broker, Topic
from doorkeeper.server.resources.topics.creation import check_replicas
from doorkeeper.server.resources.topics.table import Topics, row_of, text_of
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic


class Reassignment(Struct, frozen=True):
    """The brokers that shall hold a partition; None cancels a reassignment.

    ``may_resize`` allows another number of replicas.
    """

    name: str
    partition: int
    replicas: tuple[int, ...] | None
    may_resize: bool


def plan_reassignments(
    topics: Topics, reassignments: Sequence[Reassignment], brokers: Sequence[Broker]
) -> tuple[Change, list[ApiError | None]]:
    """Return the change that moves partitions, and for each why it stays, or None."""
    rows: dict[str, StoredTopic] = {}
    errors: list[ApiError | None] = []
    for reassignment in reassignments:
        topic = topics.get(reassignment.name)
        try:
            replicas = _replicas(topic, reassignment, brokers)
        except ApiError as error:
            errors.append(error)
            continue
        assert topic is not None, "refused by _replicas"
        row = rows.get(reassignment.name) or row_of(topic)
        rows[reassignment.name] = _row_after(row, reassignment.partition, replicas)
        errors.append(None)
    return edit(TOPIC, set=rows.values()), errors


def _replicas(
    topic: Topic | None, reassignment: Reassignment, brokers: Sequence[Broker]
) -> tuple[int, ...]:
    """Return the brokers that shall hold a partition."""
    name, partition, replicas = reassignment.name, reassignment.partition, reassignment.replicas
    if topic is None:
        text = f"Unable to find a topic named {name}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if not 0 <= partition < topic.partitions:
        text = f"Unable to find partition {name}:{partition}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if replicas is None:
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    check_replicas(replicas, None, brokers)
    present = topic.assignments[partition : partition + 1] or ((),)
    count = len(present[0]) or topic.replication_factor
    if not reassignment.may_resize and len(replicas) != count:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {count} to {len(replicas)}",
        )
    return replicas


def _row_after(row: StoredTopic, partition: int, replicas: Sequence[int]) -> StoredTopic:
    assignments = [*row.assignments, *[""] * (partition + 1 - len(row.assignments))]
    assignments[partition] = text_of(replicas)
    return replace(row, assignments=tuple(assignments))
