"""What the differential suite asks about replicas: leaders, folders, transactions.

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
    DELETE,
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
)

TOPICS = ("t-one", "t-two")

GRANTS = create(
    creation(resource_name="t-one", operation=READ),
    creation(resource_name="t-one", operation=DELETE),
    creation(resource_name="absent", operation=DELETE),
    *(
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=operation,
            principal="User:bob",
        )
        for operation in (ALTER, DESCRIBE)
    ),
)
"""alice reads one topic, bob may alter and describe the cluster."""


def reassignment_scenarios() -> Iterator[Scenario]:
    """Reassignments: to brokers that can and cannot hold a partition, cancelled, listed."""
    kind = alter_partition_reassignments

    def move(version: int, *asked: tuple[str, int, tuple[int, ...] | None], **fields: Any) -> Step:
        request = kind.AlterPartitionReassignmentsRequest(
            topics=tuple(
                kind.ReassignableTopic(
                    name=name,
                    partitions=(
                        kind.ReassignablePartition(partition_index=index, replicas=replicas),
                    ),
                )
                for name, index, replicas in asked
            ),
            **fields,
        )
        return Step(None, request, kind.AlterPartitionReassignmentsResponse, version)

    listing = list_partition_reassignments
    some = (listing.ListPartitionReassignmentsTopics(name="t-one", partition_indexes=(0, 9)),)
    lists = [
        Step(
            None,
            listing.ListPartitionReassignmentsRequest(topics=topics),
            listing.ListPartitionReassignmentsResponse,
            0,
        )
        for topics in (None, (), some)
    ]
    for version in (0, 1):
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

    def elect(version: int, partitions: Any, **fields: Any) -> Step:
        topics = partitions and tuple(
            kind.TopicPartitions(topic=name, partitions=indexes) for name, indexes in partitions
        )
        request = kind.ElectLeadersRequest(topic_partitions=topics, **fields)
        return Step(None, request, kind.ElectLeadersResponse, version)

    asked = (("t-one", (0, 1, 2, -1)), ("absent", (0,)))
    for version in range(3):
        steps = [elect(version, asked), elect(version, None), elect(version, ())]
        if version >= 1:
            steps += [elect(version, asked, election_type=each) for each in (1, 2)]
        yield Scenario(f"ElectLeaders {version}", (GRANTS, *as_users(*steps)), TOPICS)


def folder_scenarios() -> Iterator[Scenario]:
    """Folders: some partitions in them, and none; moves to a folder that is not there."""
    describing, moving = describe_log_dirs, alter_replica_log_dirs
    asked = (("t-one", (1, 0, 9)), ("t-one", (0,)), ("absent", (0,)))
    topics = tuple(
        describing.DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in asked
    )
    for version in (1, 5):
        described = as_users(
            *(
                Step(
                    None,
                    describing.DescribeLogDirsRequest(topics=each),
                    describing.DescribeLogDirsResponse,
                    version,
                )
                for each in (topics, topics[2:], ())
            )
        )
        yield Scenario(f"DescribeLogDirs {version}", (GRANTS, *described), TOPICS)
    for version in range(1, 3):
        moves = tuple(
            moving.AlterReplicaLogDir(
                path="/no/such/folder",
                topics=(moving.AlterReplicaLogDirTopic(name=name, partitions=(0,)),),
            )
            for name in ("t-one", "absent")
        )
        steps = as_users(
            *(
                Step(
                    None,
                    moving.AlterReplicaLogDirsRequest(dirs=dirs),
                    moving.AlterReplicaLogDirsResponse,
                    version,
                )
                for dirs in (moves[:1], moves[1:], ())
            )
        )
        yield Scenario(f"AlterReplicaLogDirs {version}", (GRANTS, *steps), TOPICS)


def transaction_scenarios() -> Iterator[Scenario]:
    """Transactions and producers, of which there are none: filters, refusals, odd names."""
    grants = create(
        creation(resource_type=TRANSACTIONAL_ID, resource_name="tx", operation=DESCRIBE),
        creation(resource_name="t-one", operation=READ),
        creation(resource_name="absent", operation=READ),
    )
    listing = list_transactions
    for version in range(3):
        steps = [
            Step(None, listing.ListTransactionsRequest(**fields), response, version)
            for response in (listing.ListTransactionsResponse,)
            for fields in (
                {},
                {"state_filters": ("Ongoing", "ongoing", "Empty", "Nonsense", "Dead")},
                {"producer_id_filters": (1, -1)},
            )
        ]
        if version >= 2:
            response = listing.ListTransactionsResponse
            steps += [
                Step(
                    None,
                    listing.ListTransactionsRequest(transactional_id_pattern=pattern),
                    response,
                    version,
                )
                for pattern in ("", "a.*", "(", "[")
            ]
        yield Scenario(f"ListTransactions {version}", (grants, *as_users(*steps)), groups=True)
    describing = describe_transactions
    request = describing.DescribeTransactionsRequest(transactional_ids=("tx", "other", "", "tx"))
    step = Step(None, request, describing.DescribeTransactionsResponse, 0)
    yield Scenario("DescribeTransactions", (grants, *as_users(step)), groups=True)
    producing = describe_producers
    names = ("t-one", "t-two", "absent", "bad name", "")
    producers = producing.DescribeProducersRequest(
        topics=tuple(
            producing.TopicRequest(name=name, partition_indexes=(0, 2, -1)) for name in names
        )
    )
    step = Step(None, producers, producing.DescribeProducersResponse, 0)
    yield Scenario("DescribeProducers", (grants, *as_users(step)), TOPICS)


def broker_scenarios() -> Iterator[Scenario]:
    """UnregisterBroker of ids that no broker has."""
    steps = [
        Step(
            None,
            unregister_broker.UnregisterBrokerRequest(broker_id=broker_id),
            unregister_broker.UnregisterBrokerResponse,
            0,
        )
        for broker_id in (77, -1)
    ]
    yield Scenario("UnregisterBroker", (GRANTS, *as_users(*steps)))


LOG_SCENARIOS: tuple[Scenario, ...] = (
    *reassignment_scenarios(),
    *election_scenarios(),
    *folder_scenarios(),
    *transaction_scenarios(),
    *broker_scenarios(),
)
