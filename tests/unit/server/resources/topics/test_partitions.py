"""How topics get more partitions: the controller's codes and texts, and what is stored."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.resources.topics.partitions import plan_partitions
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import TOPIC
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
)
from testkit.nodes import a_topic, brokers_of

OLD = a_topic("old", 2, replication_factor=2)
TOPICS = Topics.of([OLD, a_topic("other")])


def wanted(
    name: str, count: int, assignments: tuple[tuple[int, ...], ...] | None = None
) -> CreatePartitionsTopic:
    chosen = None
    if assignments is not None:
        chosen = tuple(CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments)
    return CreatePartitionsTopic(name=name, count=count, assignments=chosen)


def test_partitions_are_added() -> None:
    """Everything else of the topic stays."""
    change, errors = plan_partitions(TOPICS, [wanted("old", 5)], brokers_of(1))

    assert change == edit(TOPIC, set=[replace(OLD, partitions=5)])
    assert errors == [None]


def test_assigned_brokers_are_kept() -> None:
    asked = wanted("old", 4, ((2, 1), (1, 2)))

    change, _ = plan_partitions(TOPICS, [asked], brokers_of(1, 2))

    row = replace(OLD, partitions=4, assignments=("", "", "2,1", "1,2"))
    assert change == edit(TOPIC, set=[row])


def test_new_partitions_are_distributed() -> None:
    asked = [wanted("old", 4)]

    change, _ = plan_partitions(TOPICS, asked, brokers_of(1, 3, fenced=[2]))

    row = replace(OLD, partitions=4, assignments=("", "", "1,3", "3,1"))
    assert change == edit(TOPIC, set=[row])


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        (wanted("none", 5), 3, None),
        (wanted("old", 2), 37, "Topic already has 2 partition(s)."),
        (wanted("old", -1), 37, ("The topic old currently has 2 partition(s); -1 would"
         " not be an increase.")),
        (wanted("old", 4, ((1, 2),)), 39, ("Attempted to add 2 additional partition(s),"
         " but only 1 assignment(s) were specified.")),
        (wanted("old", 3, ((1,),)), 39, ("The manual partition assignment includes a"
         " partition with 1 replica(s), but this is not consistent with previous partitions, which"
         " have 2 replica(s).")),
        (wanted("old", 3, ((1, 7),)), 39, ("The manual partition assignment includes"
         " broker 7, but no such broker is registered.")),
        (wanted("old", 4, ((1, 3), (4, 3))), 39, ("All brokers specified in the manual"
         " partition assignment for partition 3 are fenced or in controlled shutdown.")),
        (wanted("old", 10_003), 44,
         "Unable to perform excessively large batch operation."),
    ],
)  # fmt: skip
def test_invalid_increases_are_rejected(
    asked: CreatePartitionsTopic, code: int, text: str | None
) -> None:
    both = [asked, wanted("other", 2, ((1,),))]

    change, errors = plan_partitions(TOPICS, both, brokers_of(1, 2, fenced=[3, 4]))

    row = replace(a_topic("other"), partitions=2, assignments=("", "1"))
    assert change == edit(TOPIC, set=[row])
    assert errors[1] is None
    assert errors[0] is not None
    assert (errors[0].code, errors[0].message) == (code, text)


def test_partitions_of_a_request_are_limited() -> None:
    """10,000 of them fit; a topic that would exceed that gets none."""
    asked = [wanted("old", 9_002), wanted("other", 1_002)]

    _, errors = plan_partitions(TOPICS, asked, brokers_of(1, 2))

    assert [error and error.code for error in errors] == [None, ErrorCode.POLICY_VIOLATION]
