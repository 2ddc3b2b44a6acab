"""How partitions move to other brokers: the controller's codes and texts, and what is stored."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.server.resources.topics.partitions import plan_reassignments
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper_wire.messages.alter_partition_reassignments import (
    ReassignablePartition,
    ReassignableTopic,
)
from testkit.nodes import a_topic, brokers_of

A = a_topic("a", 3, replication_factor=2, assignments=((1, 2),))
TOPICS = Topics.of([A])


def moved(name: str, index: int, replicas: tuple[int, ...] | None) -> ReassignableTopic:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    return ReassignableTopic(name=name, partitions=(partition,))


def test_partitions_of_a_topic_move_together() -> None:
    """Those that nobody placed stay without brokers of choice."""
    asked = [moved("a", 0, (2, 1)), moved("a", 2, (3, 1))]

    change, errors = plan_reassignments(TOPICS, asked, brokers_of(1, 2, 3), may_resize=True)

    assert change == edit(TOPIC, set=[replace(A, assignments=("2,1", "", "3,1"))])
    assert errors == [None, None]


@pytest.mark.parametrize(
    ("asked", "may_resize", "code", "text"),
    [
        (moved("x", 0, (1,)), True, 3, "Unable to find a topic named x."),
        (moved("a", 3, (1,)), True, 3, "Unable to find partition a:3."),
        (moved("a", -1, (1,)), True, 3, "Unable to find partition a:-1."),
        (moved("a", 0, None), True, 85, None),
        (moved("a", 0, ()), True, 39,
         "The manual partition assignment includes an empty replica list."),
        (moved("a", 0, (1, 9)), True, 39,
         "The manual partition assignment includes broker 9, but no such broker is registered."),
        (moved("a", 0, (1,)), False, 38, "The replication factor is changed from 2 to 1"),
        (moved("a", 1, (1,)), False, 38, "The replication factor is changed from 2 to 1"),
    ],
)  # fmt: skip
def test_invalid_reassignments_are_rejected(
    asked: ReassignableTopic, may_resize: bool, code: int, text: str | None
) -> None:
    change, errors = plan_reassignments(TOPICS, [asked], brokers_of(1, 2, 3), may_resize=may_resize)

    assert change == edit(TOPIC)
    assert errors[0] is not None
    assert (errors[0].code, errors[0].message) == (code, text)
