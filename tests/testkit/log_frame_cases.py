"""Scenarios of replicas: leaders, folders, transactions.

The partitions hold no records; ``t-one`` and ``t-two`` have two partitions each.
"""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import (
    alter_partition_reassignments,
    alter_replica_log_dirs,
    describe_log_dirs,
    describe_producers,
    describe_transactions,
    elect_leaders,
    list_partition_reassignments,
    list_transactions,
    unregister_broker,
)
from testkit.frame_steps import (
    ALTER,
    CLUSTER,
    DESCRIBE,
    READ,
    TRANSACTIONAL_ID,
    Scenario,
    Step,
    as_users,
    ask_metadata,
    create,
    creation,
    named,
    step,
)

TOPICS = ("t-one", "t-two")
ON_CLUSTER: dict[str, Any] = {
    "resource_type": CLUSTER,
    "resource_name": "kafka-cluster",
    "principal": "User:bob",
}
GRANTS = create(
    creation(resource_name="t-one", operation=READ),
    creation(**ON_CLUSTER, operation=ALTER),
    creation(**ON_CLUSTER, operation=DESCRIBE),
)
"""alice reads one topic, bob may alter and describe the cluster."""


def reassignment_scenarios() -> Iterator[Scenario]:
    """Reassignments: to brokers that can and cannot hold a partition, cancelled, listed."""
    kind = alter_partition_reassignments

    def move(version: int, *rows: tuple[str, int, tuple[int, ...] | None], **fields: Any) -> Step:
        topics = tuple(
            kind.ReassignableTopic(
                name=name,
                partitions=(kind.ReassignablePartition(partition_index=index, replicas=replicas),),
            )
            for name, index, replicas in rows
        )
        return step(kind, version, topics=topics, **fields)

    listing = list_partition_reassignments
    some = (listing.ListPartitionReassignmentsTopics(name="t-one", partition_indexes=(0, 9)),)
    lists = [step(listing, 0, topics=topics) for topics in (None, (), some)]
    for version in range(2):
        steps = (
            *lists,
            move(version, ("t-one", 0, (1,)), ("absent", 0, (1,)), ("t-two", 9, (1,))),
            move(version, ("t-one", 0, None), ("t-one", 1, ()), ("t-two", 0, (1, 1))),
            move(version, ("t-one", -1, (1,)), ("t-two", 0, (1, 7))),
            move(version, ("t-one", 0, (1,)), timeout_ms=0),
            move(version),
            *lists,
            ask_metadata(9, named(*TOPICS)),
        )
        if version >= 1:
            steps += (move(1, ("t-one", 0, (1,)), allow_replication_factor_change=False),)
        yield Scenario(f"reassignments {version}", (GRANTS, *as_users(*steps)), TOPICS)


def election_scenarios() -> Iterator[Scenario]:
    """ElectLeaders: of partitions that have their leader, and of none; all; an unknown type."""
    kind = elect_leaders
    some = tuple(
        kind.TopicPartitions(topic=name, partitions=indexes)
        for name, indexes in (("t-one", (0, 1, 2, -1)), ("absent", (0,)))
    )
    for version in (0, 2):
        steps = [step(kind, version, topic_partitions=topics) for topics in (some, None, ())]
        if version >= 1:
            odd = {"topic_partitions": some}
            steps += [step(kind, version, **odd, election_type=each) for each in (1, 2)]
        yield Scenario(f"ElectLeaders {version}", (GRANTS, *as_users(*steps)), TOPICS)


def folder_scenarios() -> Iterator[Scenario]:
    """Folders: some partitions in them, and none; moves to a folder that is not there."""
    describing, moving = describe_log_dirs, alter_replica_log_dirs
    topics = tuple(
        describing.DescribableLogDirTopic(topic=name, partitions=indexes)
        for name, indexes in (("t-one", (1, 0, 9)), ("t-one", (0,)), ("absent", (0,)))
    )
    moves = tuple(
        moving.AlterReplicaLogDir(
            path="/no/such/folder",
            topics=(moving.AlterReplicaLogDirTopic(name=name, partitions=(0,)),),
        )
        for name in ("t-one", "absent")
    )
    for version, newest in ((1, 5), (2, 2)):
        steps = (
            *(step(describing, newest, topics=each) for each in (topics, topics[2:], ())),
            *(step(moving, version, dirs=dirs) for dirs in (moves[:1], moves[1:], ())),
        )
        yield Scenario(f"folders {version}", (GRANTS, *as_users(*steps)), TOPICS)


def transaction_scenarios() -> Iterator[Scenario]:
    """Transactions and producers, of which there are none: filters, refusals, odd names."""
    grants = create(
        creation(resource_type=TRANSACTIONAL_ID, resource_name="tx", operation=DESCRIBE),
        creation(resource_name="t-one", operation=READ),
        creation(resource_name="absent", operation=READ),
    )
    for version in (0, 2):
        steps = [
            step(list_transactions, version),
            step(list_transactions, version, state_filters=("Ongoing", "ongoing", "Empty", "Dead")),
            step(list_transactions, version, producer_id_filters=(1, -1)),
        ]
        if version >= 2:
            patterns = ("", "a.*", "(", "[")
            steps += [
                step(list_transactions, version, transactional_id_pattern=each) for each in patterns
            ]
        yield Scenario(f"ListTransactions {version}", (grants, *as_users(*steps)), groups=True)
    asked = step(describe_transactions, 0, transactional_ids=("tx", "other", "", "tx"))
    yield Scenario("DescribeTransactions", (grants, *as_users(asked)), groups=True)
    topics = tuple(
        describe_producers.TopicRequest(name=name, partition_indexes=(0, 2, -1))
        for name in ("t-one", "t-two", "absent", "bad name", "")
    )
    asked = step(describe_producers, 0, topics=topics)
    yield Scenario("DescribeProducers", (grants, *as_users(asked)), TOPICS)


def broker_scenarios() -> Iterator[Scenario]:
    """UnregisterBroker of ids that no broker has."""
    steps = [step(unregister_broker, 0, broker_id=broker_id) for broker_id in (77, -1)]
    yield Scenario("UnregisterBroker", (GRANTS, *as_users(*steps)))


LOG_SCENARIOS: tuple[Scenario, ...] = (
    *reassignment_scenarios(),
    *election_scenarios(),
    *folder_scenarios(),
    *transaction_scenarios(),
    *broker_scenarios(),
)
