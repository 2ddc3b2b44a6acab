"""Whether a topic can be created: the controller's codes and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.plugins import CreateTopicPolicy, TopicCreation
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.topics.creation import (
    created_automatically,
    partitions_of,
    plan_topic,
    records_of,
)
from doorkeeper_wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from testkit.nodes import a_topic, brokers_of, node_of

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "The manual partition assignment includes"


def wanted(
    name: str,
    num_partitions: int = -1,
    replication_factor: int = -1,
    assignments: Sequence[tuple[int, tuple[int, ...]]] = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignments
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs),
    )


async def test_plan_contains_all_stored_values() -> None:
    node = await node_of(properties="num.partitions=4\n")

    one = plan_topic(wanted("a", configs=(("retention.ms", "5"),)), node, brokers_of(1))
    two = plan_topic(wanted("b", 2, 1), node, brokers_of(1))

    assert (one.partitions, one.replication_factor, one.configs) == (4, 1, {"retention.ms": "5"})
    assert (two.partitions, two.configs) == (2, {})
    assert one.topic_id != two.topic_id
    assert (records_of(one), records_of(two)) == (1 + 1 + 4, 1 + 2)


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        (wanted("a b"), 17, ("Topic name is invalid: 'a b' contains one or more characters"
         " other than ASCII alphanumerics, '.', '_' and '-'")),
        (wanted("old", 0, 0), 36, "Topic 'old' already exists."),
        (wanted("a", 0), 37, "Number of partitions was set to an invalid non-positive value."),
        (wanted("a", -2), 37,
         "Number of partitions was set to an invalid non-positive value."),
        (wanted("a", 0, 0), 38,
         "Replication factor must be larger than 0, or -1 to use the default value."),
        (wanted("a", 1, 3), 38, ("Unable to replicate the partition 3 time(s): The target"
         " replication factor of 3 cannot be reached because only 2 broker(s) are registered or"
         " some brokers have all their log directories cordoned.")),
        (wanted("a", configs=(("x", None), ("foo", "1"), ("y", None))), 40,
         "Null value not supported for topic configs: x,y"),
        (wanted("a", 0, configs=(("foo", "1"),)), 40, "Unknown topic config name: foo"),
    ],
)  # fmt: skip
async def test_first_fault_is_reported(asked: CreatableTopic, code: int, text: str) -> None:
    node = await node_of(topics=[a_topic("old")])

    with pytest.raises(ApiError) as caught:
        plan_topic(asked, node, brokers_of(1, 2))
    assert (caught.value.code, caught.value.message) == (code, text)


@pytest.mark.parametrize(
    ("assignments", "fields", "code", "text"),
    [
        ([(0, (1,))], {"replication_factor": 1}, 42,
         "A manual partition assignment was specified, but replication factor was not set to -1."),
        ([(0, (1,))], {"num_partitions": 1}, 42,
         "A manual partition assignment was specified, but numPartitions was not set to -1."),
        ([(0, (1,)), (0, (1,))], {}, 39,
         "Found multiple manual partition assignments for partition 0"),
        ([(1, (1,))], {}, 39, "partitions should be a consecutive 0-based integer sequence"),
        ([(0, (9,))], {}, 39, f"{PREFIX} broker 9, but no such broker is registered."),
        ([(0, ())], {}, 39, f"{PREFIX} an empty replica list."),
        ([(0, (1, 1))], {}, 39, f"{PREFIX} the broker 1 more than once."),
        ([(0, (1,)), (1, (1, 2))], {}, 39, (f"{PREFIX} a partition with 2 replica(s), but this is"
         " not consistent with previous partitions, which have 1 replica(s).")),
    ],
)  # fmt: skip
async def test_invalid_assignments(
    assignments: Any, fields: dict[str, Any], code: int, text: str
) -> None:
    """As observed on a broker 4.3.1."""
    node = await node_of()
    asked = wanted("a", assignments=tuple(assignments), **fields)

    with pytest.raises(ApiError) as caught:
        plan_topic(asked, node, brokers_of(1, 2))
    assert (caught.value.code, caught.value.message) == (code, text)


async def test_assignment_determines_the_numbers() -> None:
    node = await node_of()
    asked = wanted("a", assignments=((1, (2, 1)), (0, (1, 2))))
    given: list[TopicCreation] = []

    class Recording(CreateTopicPolicy):
        def validate(self, request: TopicCreation) -> None:
            given.append(request)

    node.policies = Policies(Recording())
    plan = plan_topic(asked, node, brokers_of(1, 2))

    assert (plan.partitions, plan.replication_factor) == (2, 2)
    assert partitions_of(asked, node) == 2
    assert plan.assignments == ("1,2", "2,1")
    assert [list((each.replicas_assignments or {}).items()) for each in given] == [
        [(0, [1, 2]), (1, [2, 1])]
    ]


async def test_placement_is_stored() -> None:
    node = await node_of()
    registered = brokers_of(1, 3, fenced=[2])

    plans = [plan_topic(wanted("a", 2, factor), node, registered) for factor in (1, 2, 3)]

    assert [each.assignments for each in plans] == [
        ("1", "3"),
        ("1,3", "3,1"),
        ("1,3,2", "3,1,2"),
    ]


async def test_assignment_requires_a_live_broker() -> None:
    node = await node_of()
    registered = brokers_of(1, fenced=[2, 3])

    plan_topic(wanted("a", assignments=((0, (2, 1)),)), node, registered)
    with pytest.raises(ApiError) as caught:
        plan_topic(wanted("a", assignments=((0, (2, 3)),)), node, registered)

    assert caught.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert caught.value.message == (
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in"
        " controlled shutdown."
    )


async def test_auto_creation_skips_invalid_names() -> None:
    """Illegal names are passed over; internal topics have a broker's 50 partitions."""
    node = await node_of(topics=[a_topic("a.b")])

    made = created_automatically(["x y", "a_b", "new", "__consumer_offsets"], node, brokers_of(1))

    assert [(each.name, each.partitions) for each in made] == [
        ("new", 1),
        ("__consumer_offsets", 50),
    ]


async def test_unreachable_replication_factor_creates_nothing() -> None:
    node = await node_of(properties="default.replication.factor=3\n")

    assert created_automatically(["new"], node, brokers_of(1)) == ()
    with pytest.raises(ApiError) as caught:
        plan_topic(wanted("new"), node, brokers_of(1))
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
