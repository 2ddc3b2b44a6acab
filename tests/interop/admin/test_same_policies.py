"""Policies of topics and configurations beside a broker whose policies do the same in Java."""

import os
from collections.abc import Iterator

import pytest

from doorkeeper_wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopicConfig
from testkit.checkout import ROOT
from testkit.frame_steps import (
    ask_metadata,
    change_configs,
    make_topics,
    named,
    new_topic,
    replace_configs,
)
from testkit.kafka_target import doorkeeper_target, kafka_target
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.side_by_side import INTERNAL_TOPICS

INTER_BROKER = {"inter_broker_listener_name": "PLAINTEXT", "num_partitions": "3"}


@pytest.fixture(scope="module")
def policed(totals: Totals) -> Iterator[Pair]:
    """Give a broker and a Doorkeeper with the same policies."""
    keys = ("create_topic_policy_class_name", "alter_config_policy_class_name")
    java = ("RefusingPolicies$Topics", "RefusingPolicies$Configs")
    python = ("testkit.policies.Topics", "testkit.policies.Configs")
    reference = or_skip(lambda: kafka_target(**INTER_BROKER, **dict(zip(keys, java, strict=True))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)
        ours = doorkeeper_target(
            "4.3.1", INTERNAL_TOPICS, **INTER_BROKER, **dict(zip(keys, python, strict=True))
        )
    pair = Pair(reference, ours, totals)
    yield pair
    pair.close()


def test_topic_policies(policed: Pair) -> None:
    setting = CreatableTopicConfig
    chosen = tuple(
        CreatableReplicaAssignment(partition_index=index, broker_ids=(1,)) for index in range(2)
    )
    topics = (
        new_topic("good"),
        new_topic("refused-1", num_partitions=-1, replication_factor=-1),
        new_topic("refused-2", configs=(setting(name="retention.ms", value="77"),)),
        new_topic("refused-3", num_partitions=-1, replication_factor=-1, assignments=chosen),
        new_topic("refused-4", num_partitions=0),
        new_topic("refused-5", replication_factor=3),
        new_topic("refused-6", configs=(setting(name="nope", value="1"),)),
        new_topic("refused bad name"),
        new_topic("silent"),
        new_topic("configured", configs=(setting(name="retention.ms", value="5001"),)),
        new_topic("failing", configs=(setting(name="retention.ms", value="5002"),)),
        new_topic("odd", configs=(setting(name="retention.ms", value="5003"),)),
        new_topic("hushed", configs=(setting(name="retention.ms", value="5004"),)),
        new_topic("refused-7", configs=(setting(name="retention.ms", value="5001"),)),
        new_topic("broken"),
    )
    steps = [
        make_topics(*topics, version=version, validate=validate)
        for version in (2, 5, 7)
        for validate in (True, False)
    ]
    policed.clear()

    differences = [line for step in steps for line in policed.differences(step)]
    differences += policed.differences(ask_metadata(12, named("good", "broken", "refused-1")))

    assert not differences, "\n".join(differences)


def test_configuration_policies(policed: Pair) -> None:
    policed.clear(("t-one",))
    resources = ((2, "t-one"), (2, "absent"), (4, "1"), (4, ""))
    name_of = {2: ("retention.ms", "segment.ms"), 4: ("max.connections", "max.connections.per.ip")}
    steps = []
    for version in (0, 1):
        for kind, name in resources:
            one, two = name_of[kind]
            steps.append(change_configs(version, (kind, name, ((two, 0, "60000"),))))
            for value in ("5001", "5002", "5003", "5004", "5005"):
                for validate in (True, False):
                    altered = ((one, 0, value), (two, 0, "60000"))
                    steps.append(change_configs(version, (kind, name, altered), validate=validate))
            steps += [
                change_configs(version, (kind, name, ((one, 0, "5001"), (two, 1, None)))),
                change_configs(version, (kind, name, ((one, 1, None), (two, 1, None)))),
            ]
    # A broker demands min.insync.replicas of all brokers, which has no effect here.
    for kind, name in resources[:3]:
        one, two = name_of[kind]
        steps += [
            replace_configs(2, (kind, name, ((two, 0, "60000"),))),
            replace_configs(2, (kind, name, ((one, 0, "5001"),))),
            replace_configs(2, (kind, name, ((one, 0, "5001"), (two, 0, "60000")))),
            replace_configs(2, (kind, name, ())),
        ]

    differences = [line for step in steps for line in policed.differences(step)]

    assert not differences, "\n".join(differences)
