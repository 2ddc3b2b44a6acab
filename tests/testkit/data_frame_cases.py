"""Requests of producers, consumers and groups at random, under random ACLs.

What a server makes up (ids of members and producers) is in no request: members and producers are
unknown ones, whose errors are compared.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from doorkeeper_wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    delete_groups,
    delete_records,
    describe_groups,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
)
from testkit.batches import batch_bytes
from testkit.frame_steps import (
    CLUSTER,
    DENY,
    GROUP,
    PREFIXED,
    TRANSACTIONAL_ID,
    Scenario,
    Step,
    create,
    creation,
    step,
)
from testkit.side_by_side import id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Maker = Callable[[Random], Step]

TOPICS = ("t-one", "t-two")
NAMES = (*TOPICS, "absent")
GROUPS = ("g-one", "g-two")
IDS = ("x-one", "x-two")
USERS = ("alice", "bob", None)
STEPS = 40
"""The requests of a scenario."""

ALL, READ, WRITE, DELETE, DESCRIBE = 2, 3, 4, 6, 8
CLUSTER_ACTION, IDEMPOTENT_WRITE, ALLOW = 9, 12, 3
OPERATIONS = {
    2: (ALL, READ, WRITE, DELETE, DESCRIBE),
    GROUP: (ALL, READ, DELETE, DESCRIBE),
    TRANSACTIONAL_ID: (ALL, WRITE, DESCRIBE),
    CLUSTER: (CLUSTER_ACTION, IDEMPOTENT_WRITE),
}
RESOURCES = {2: NAMES, GROUP: GROUPS, TRANSACTIONAL_ID: IDS, CLUSTER: ("kafka-cluster",)}
PREFIXES = {2: "t-", GROUP: "g-", TRANSACTIONAL_ID: "x-"}


def data_scenarios(count: int, seed: int = 21) -> Iterator[Scenario]:
    """Yield scenarios of random ACLs and requests, for servers that keep records."""
    return _scenarios("data path", count, seed, MAKERS)


def empty_log_scenarios(count: int, seed: int = 22) -> Iterator[Scenario]:
    """Yield scenarios of what a server without records answers: offsets, groups, producers."""
    return _scenarios("empty logs", count, seed, OF_EMPTY_LOGS)


def _scenarios(name: str, count: int, seed: int, makers: Sequence[Maker]) -> Iterator[Scenario]:
    for number in range(count):
        chance = Random(f"{seed}/{number}")
        grants = create(*(_grant(chance) for _ in range(chance.randint(2, 9))))
        steps = tuple(
            chance.choice(makers)(chance)._replace(user=chance.choice(USERS)) for _ in range(STEPS)
        )
        yield Scenario(f"{name} {number}", (grants, *steps), TOPICS, groups=True)


def _grant(chance: Random) -> Any:
    kind = chance.choice(tuple(RESOURCES))
    name, pattern = chance.choice(RESOURCES[kind]), 3
    if kind in PREFIXES and chance.random() < 0.2:
        name, pattern = PREFIXES[kind], PREFIXED
    elif kind != CLUSTER and chance.random() < 0.1:
        name = "*"
    return creation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=chance.choice(("User:alice", "User:alice", "User:bob", "User:*")),
        operation=chance.choice(OPERATIONS[kind]),
        permission_type=DENY if chance.random() < 0.15 else ALLOW,
    )


def _topics(chance: Random, make: Callable[[str], Any]) -> tuple[Any, ...]:
    """Return the rows of one to three topics."""
    return tuple(make(name) for name in tuple(chance.sample(NAMES, chance.randint(1, 3))))


def _produce(chance: Random) -> Step:
    version = chance.randint(3, 13)
    transactional = chance.random() < 0.2
    data = batch_bytes(
        b"value",
        producer=(7, 0, 0) if transactional else (-1, -1, -1),
        attributes=0x10 if transactional else 0,
    )
    if chance.random() < 0.1:
        data = data[:-1] + b"!"

    def topic(name: str) -> produce.TopicProduceData:
        part = produce.PartitionProduceData(index=chance.choice((0, 1, 9)), records=data)
        return produce.TopicProduceData(name=name, topic_id=id_of(name), partition_data=(part,))

    return step(
        produce,
        version,
        transactional_id=chance.choice(IDS) if transactional else None,
        acks=-1,
        timeout_ms=5000,
        topic_data=_topics(chance, topic),
    )


def _fetch(chance: Random) -> Step:
    version = chance.randint(4, 17)

    def topic(name: str) -> fetch.FetchTopic:
        part = fetch.FetchPartition(
            partition=chance.choice((0, 1, 9)),
            fetch_offset=chance.choice((0, 0, 1, 99)),
            partition_max_bytes=100_000,
        )
        return fetch.FetchTopic(topic=name, topic_id=id_of(name), partitions=(part,))

    return step(
        fetch,
        version,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1_000_000,
        isolation_level=chance.choice((0, 1)),
        replica_id=2 if version < 15 and chance.random() < 0.1 else -1,
        topics=_topics(chance, topic),
    )


def _list_offsets(chance: Random) -> Step:
    return _offsets_at(chance, (0,), (-1, -2, 0, 1000, 2**40), 9)


def _list_empty_offsets(chance: Random) -> Step:
    return _offsets_at(chance, (0, 1, 2, -1), (*range(-7, 1), 2**40), 11)


def _offsets_at(
    chance: Random, indexes: tuple[int, ...], times: tuple[int, ...], newest: int
) -> Step:
    kind = list_offsets

    def topic(name: str) -> list_offsets.ListOffsetsTopic:
        index = chance.choice(indexes) if len(indexes) > 1 else indexes[0]
        part = kind.ListOffsetsPartition(partition_index=index, timestamp=chance.choice(times))
        return kind.ListOffsetsTopic(name=name, partitions=(part,))

    return step(kind, chance.randint(1, newest), replica_id=-1, topics=_topics(chance, topic))


def _epochs(chance: Random) -> Step:
    return _epochs_of(chance, (9,), (-1,))


def _empty_epochs(chance: Random) -> Step:
    return _epochs_of(chance, (0, 1, 2), (-2, -1, 0, 7))


def _epochs_of(chance: Random, indexes: tuple[int, ...], epochs: tuple[int, ...]) -> Step:
    kind = offset_for_leader_epoch

    def topic(name: str) -> offset_for_leader_epoch.OffsetForLeaderTopic:
        part = kind.OffsetForLeaderPartition(partition=indexes[0])
        if len(indexes) > 1:
            part = part.replace(
                partition=chance.choice(indexes),
                leader_epoch=chance.choice(epochs),
                current_leader_epoch=chance.choice(epochs),
            )
        return kind.OffsetForLeaderTopic(topic=name, partitions=(part,))

    return step(kind, chance.randint(2, 4), replica_id=-1, topics=_topics(chance, topic))


def _delete_records(chance: Random) -> Step:
    kind = delete_records

    def topic(name: str) -> delete_records.DeleteRecordsTopic:
        part = kind.DeleteRecordsPartition(partition_index=0, offset=chance.choice((0, 99)))
        return kind.DeleteRecordsTopic(name=name, partitions=(part,))

    return step(kind, chance.randint(0, 2), timeout_ms=5000, topics=_topics(chance, topic))


def _find(chance: Random) -> Step:
    kind = chance.choice((0, 1))
    return step(
        find_coordinator,
        chance.randint(1, 3),
        key=chance.choice(IDS if kind else GROUPS),
        key_type=kind,
    )


def _join(chance: Random) -> Step:
    return step(
        join_group,
        chance.randint(2, 9),
        group_id=chance.choice((*GROUPS, "")),
        session_timeout_ms=chance.choice((10_000, 10_000, 1)),
        rebalance_timeout_ms=10_000,
        member_id="m-1",
        protocol_type="consumer",
        protocols=(join_group.JoinGroupRequestProtocol(name="range", metadata=b"m"),),
    )


def _sync(chance: Random) -> Step:
    version = chance.randint(0, 5)
    return step(
        sync_group,
        version,
        group_id=chance.choice((*GROUPS, "")),
        generation_id=1,
        member_id="m-1",
        protocol_type="consumer" if chance.random() < 0.9 else None,
        protocol_name="range",
    )


def _heartbeat(chance: Random) -> Step:
    return step(
        heartbeat,
        chance.randint(0, 4),
        group_id=chance.choice((*GROUPS, "")),
        generation_id=1,
        member_id="m-1",
    )


def _leave(chance: Random) -> Step:
    version = chance.randint(0, 5)
    members = (
        leave_group.MemberIdentity(member_id="m-1"),
        leave_group.MemberIdentity(member_id="", group_instance_id="i-1"),
    )
    return step(
        leave_group,
        version,
        group_id=chance.choice((*GROUPS, "")),
        member_id="m-1" if version < 3 else "",
        members=members if version >= 3 else (),
    )


def _commit(chance: Random) -> Step:
    kind = offset_commit
    group, epoch = chance.choice(GROUPS), chance.choice((-1, -1, 3))

    def topic(name: str) -> offset_commit.OffsetCommitRequestTopic:
        index = chance.choice((0, 9))
        part = kind.OffsetCommitRequestPartition(partition_index=index, committed_offset=5)
        return kind.OffsetCommitRequestTopic(name=name, topic_id=id_of(name), partitions=(part,))

    return step(
        kind,
        chance.randint(2, 9),
        group_id=group,
        generation_id_or_member_epoch=epoch,
        topics=_topics(chance, topic),
    )


TEXTS = ("", "text", None, "x" * 4096, "\u00e9" * 4096, "\U0001f600" * 2048)


def _commit_with_texts(chance: Random) -> Step:
    """Return a commit in which offsets, texts, epochs of leaders and members vary too."""
    done = _commit(chance)
    topics = tuple(
        topic.replace(
            partitions=tuple(
                part.replace(
                    committed_offset=chance.choice((5, 0, -1, -7)),
                    committed_metadata=chance.choice(TEXTS),
                    committed_leader_epoch=chance.choice((-1, 0, 9)) if done.version >= 6 else -1,
                )
                for part in topic.partitions
            )
        )
        for topic in done.request.topics
    )
    member = {"member_id": chance.choice(("", "", "m"))}
    return done._replace(request=done.request.replace(topics=topics, **member))


def _fetch_offsets(chance: Random) -> Step:
    kind = offset_fetch
    group = chance.choice(GROUPS)

    def topic(name: str) -> offset_fetch.OffsetFetchRequestTopic:
        return kind.OffsetFetchRequestTopic(name=name, partition_indexes=(0,))

    return step(kind, chance.randint(1, 7), group_id=group, topics=_topics(chance, topic))


def _fetch_groups(chance: Random) -> Step:
    """Return a question for several groups, of all their topics or of some."""
    kind, version = offset_fetch, chance.randint(8, 10)

    def topic(name: str) -> offset_fetch.OffsetFetchRequestTopics:
        named = {"name": name} if version < 10 else {"topic_id": id_of(name)}
        return kind.OffsetFetchRequestTopics(**named, partition_indexes=(0, 1, 9))

    groups = tuple(
        kind.OffsetFetchRequestGroup(
            group_id=group, topics=chance.choice((None, _topics(chance, topic)))
        )
        for group in chance.sample((*GROUPS, "g-none", ""), chance.randint(0, 3))
    )
    return step(kind, version, groups=groups)


def _delete_offsets(chance: Random) -> Step:
    kind = offset_delete
    group = chance.choice(GROUPS)

    def topic(name: str) -> offset_delete.OffsetDeleteRequestTopic:
        part = kind.OffsetDeleteRequestPartition(partition_index=0)
        return kind.OffsetDeleteRequestTopic(name=name, partitions=(part,))

    return step(kind, 0, group_id=group, topics=_topics(chance, topic))


def _delete_groups(chance: Random) -> Step:
    names = tuple(chance.choices((*GROUPS, "g-none", ""), k=chance.randint(0, 3)))
    return step(delete_groups, chance.randint(0, 2), groups_names=names)


def _show_groups(chance: Random) -> Step:
    if chance.random() < 0.5:
        return Step(None, list_groups.ListGroupsRequest(), list_groups.ListGroupsResponse, 5)
    return step(describe_groups, 6, groups=(*GROUPS, "g-none"))


def _init(chance: Random) -> Step:
    return step(
        init_producer_id,
        chance.randint(0, 5),
        transactional_id=chance.choice((*IDS, "", None)),
        # Refused after the permissions: ids would be the server's own.
        transaction_timeout_ms=chance.choice((0, 2**30)),
        producer_id=-1,
        producer_epoch=-1,
    )


def _add_partitions(chance: Random) -> Step:
    kind = add_partitions_to_txn
    topics = _topics(
        chance,
        lambda name: kind.AddPartitionsToTxnTopic(name=name, partitions=(chance.choice((0, 9)),)),
    )
    return step(
        kind,
        chance.randint(0, 3),
        v3_and_below_transactional_id=chance.choice(IDS),
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )


def _producer(chance: Random) -> dict[str, Any]:
    return {"transactional_id": chance.choice(IDS), "producer_id": 7, "producer_epoch": 0}


def _add_offsets(chance: Random) -> Step:
    request = add_offsets_to_txn.AddOffsetsToTxnRequest(
        **_producer(chance), group_id=chance.choice(GROUPS)
    )
    kind = add_offsets_to_txn.AddOffsetsToTxnResponse
    return Step(None, request, kind, chance.randint(0, 4))


def _end(chance: Random) -> Step:
    return step(end_txn, chance.randint(0, 5), **_producer(chance), committed=chance.random() < 0.5)


def _commit_in_transaction(chance: Random) -> Step:
    kind = txn_offset_commit
    producer, group = _producer(chance), chance.choice(GROUPS)

    def topic(name: str) -> txn_offset_commit.TxnOffsetCommitRequestTopic:
        part = kind.TxnOffsetCommitRequestPartition(partition_index=9, committed_offset=5)
        return kind.TxnOffsetCommitRequestTopic(name=name, partitions=(part,))

    return step(
        kind, chance.randint(0, 5), **producer, group_id=group, topics=_topics(chance, topic)
    )


MAKERS: tuple[Maker, ...] = (
    *(_produce, _produce, _fetch, _fetch, _list_offsets, _epochs, _delete_records, _find),
    *(_join, _sync, _heartbeat, _leave, _commit, _fetch_offsets, _delete_offsets, _init),
    *(_add_partitions, _add_offsets, _end, _commit_in_transaction),
)
OF_EMPTY_LOGS: tuple[Maker, ...] = (
    *(_list_empty_offsets, _empty_epochs, _delete_records, _leave, _init),
    *(_commit_with_texts, _commit_with_texts, _fetch_offsets, _fetch_groups),
    *(_delete_offsets, _delete_groups, _show_groups),
)
