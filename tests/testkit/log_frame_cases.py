"""What the differential suite asks about logs and replicas: offsets, epochs, leaders, folders.

The partitions hold no records; ``t-one`` and ``t-two`` have two partitions each.
"""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import (
    alter_partition_reassignments,
    alter_replica_log_dirs,
    delete_records,
    describe_log_dirs,
    describe_producers,
    describe_transactions,
    elect_leaders,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    offset_for_leader_epoch,
    unregister_broker,
)
from doorkeeper_wire.messages.create_topics import CreatableTopicConfig
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
    make_topics,
    named,
    new_topic,
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


def _offsets(version: int, *times: tuple[str, int, int], **fields: Any) -> Step:
    """Return the ListOffsets step: topic, partition, time."""
    kind = list_offsets
    request = kind.ListOffsetsRequest(
        replica_id=fields.pop("replica_id", -1),
        topics=tuple(
            kind.ListOffsetsTopic(
                name=name,
                partitions=(
                    kind.ListOffsetsPartition(partition_index=index, timestamp=time, **fields),
                ),
            )
            for name, index, time in times
        ),
    )
    return Step(None, request, kind.ListOffsetsResponse, version)


def offset_scenarios() -> Iterator[Scenario]:
    """ListOffsets of every version: every time, known and unknown partitions, epochs, replicas."""
    for version in range(1, 12):
        steps = [
            _offsets(version, ("t-one", 0, time), ("absent", 0, time))
            for time in (-1, -2, -3, -4, -5, -6, -7, 0, 1_700_000_000_000)
        ]
        steps += [
            _offsets(version, ("t-one", 2, -1), ("t-two", 1, -1)),
            _offsets(version, ("t-one", -1, -1)),
            _offsets(version, ("t-one", 1, -1), ("t-one", 1, -2)),
            _offsets(version, ("t-one", 0, -1), replica_id=-2),
            _offsets(version, ("t-one", 0, -1), replica_id=7),
            _offsets(version),
        ]
        if version >= 4:
            epochs = (-2, 0, 7)
            steps += [_offsets(version, ("t-one", 0, -1), current_leader_epoch=e) for e in epochs]
        yield Scenario(f"ListOffsets {version}", (GRANTS, *as_users(*steps)), TOPICS)


def record_scenarios() -> Iterator[Scenario]:
    """DeleteRecords: offsets in and out of range, absent and refused topics, a compacted one."""
    kind = delete_records

    def delete(version: int, *asked: tuple[str, int, int]) -> Step:
        request = kind.DeleteRecordsRequest(
            topics=tuple(
                kind.DeleteRecordsTopic(
                    name=name,
                    partitions=(kind.DeleteRecordsPartition(partition_index=index, offset=offset),),
                )
                for name, index, offset in asked
            ),
            timeout_ms=5000,
        )
        return Step(None, request, kind.DeleteRecordsResponse, version)

    compact = (CreatableTopicConfig(name="cleanup.policy", value="compact"),)
    for version in range(3):
        steps = (
            *(delete(version, ("t-one", 0, offset)) for offset in (-1, 0, 1, -2)),
            delete(version, ("t-one", 2, 0), ("absent", 0, 0), ("t-two", 0, 0)),
            delete(version, ("__consumer_offsets", 0, 0), ("t-compact", 0, 0)),
            delete(version),
        )
        made = make_topics(new_topic("t-compact", configs=compact), version=5)
        yield Scenario(
            f"DeleteRecords {version}", (GRANTS, made, *as_users(*steps)), TOPICS, groups=True
        )


def epoch_scenarios() -> Iterator[Scenario]:
    """OffsetForLeaderEpoch: epochs that were and were not, of partitions that are and are not."""
    kind = offset_for_leader_epoch

    def ask(version: int, *asked: tuple[str, int, int], current: int = -1) -> Step:
        request = kind.OffsetForLeaderEpochRequest(
            topics=tuple(
                kind.OffsetForLeaderTopic(
                    topic=name,
                    partitions=(
                        kind.OffsetForLeaderPartition(
                            partition=index, leader_epoch=epoch, current_leader_epoch=current
                        ),
                    ),
                )
                for name, index, epoch in asked
            )
        )
        return Step(None, request, kind.OffsetForLeaderEpochResponse, version)

    for version in range(2, 5):
        steps = (
            *(ask(version, ("t-one", 0, epoch)) for epoch in (0, 1, -1, -2)),
            *(ask(version, ("t-one", 0, 0), current=current) for current in (0, 7, -2)),
            ask(version, ("t-one", 2, 0), ("absent", 0, 0), ("t-two", 0, 0)),
            ask(version),
        )
        yield Scenario(f"OffsetForLeaderEpoch {version}", (GRANTS, *as_users(*steps)), TOPICS)


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
    for version in range(1, 6):
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
    *offset_scenarios(),
    *record_scenarios(),
    *epoch_scenarios(),
    *reassignment_scenarios(),
    *election_scenarios(),
    *folder_scenarios(),
    *transaction_scenarios(),
    *broker_scenarios(),
)
