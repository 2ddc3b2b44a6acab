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
    delete_records,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
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
)
from testkit.side_by_side import id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """Yield scenarios of random ACLs and requests."""
    for number in range(count):
        chance = Random(f"{seed}/{number}")
        grants = create(*(_grant(chance) for _ in range(chance.randint(2, 9))))
        steps = tuple(_step(chance) for _ in range(STEPS))
        yield Scenario(f"data path {number}", (grants, *steps), TOPICS, groups=True)


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


def _step(chance: Random) -> Step:
    make = chance.choice(MAKERS)
    return make(chance)._replace(user=chance.choice(USERS))


def _names(chance: Random) -> tuple[str, ...]:
    return tuple(chance.sample(NAMES, chance.randint(1, 3)))


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
    request = produce.ProduceRequest(
        transactional_id=chance.choice(IDS) if transactional else None,
        acks=-1,
        timeout_ms=5000,
        topic_data=tuple(
            produce.TopicProduceData(
                name=name,
                topic_id=id_of(name),
                partition_data=(
                    produce.PartitionProduceData(index=chance.choice((0, 1, 9)), records=data),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, produce.ProduceResponse, version)


def _fetch(chance: Random) -> Step:
    version = chance.randint(4, 17)
    request = fetch.FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1_000_000,
        isolation_level=chance.choice((0, 1)),
        replica_id=2 if version < 15 and chance.random() < 0.1 else -1,
        topics=tuple(
            fetch.FetchTopic(
                topic=name,
                topic_id=id_of(name),
                partitions=(
                    fetch.FetchPartition(
                        partition=chance.choice((0, 1, 9)),
                        fetch_offset=chance.choice((0, 0, 1, 99)),
                        partition_max_bytes=100_000,
                    ),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, fetch.FetchResponse, version)


def _list_offsets(chance: Random) -> Step:
    kind = list_offsets
    request = kind.ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            kind.ListOffsetsTopic(
                name=name,
                partitions=(
                    kind.ListOffsetsPartition(
                        partition_index=0, timestamp=chance.choice((-1, -2, 0, 1000, 2**40))
                    ),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.ListOffsetsResponse, chance.randint(1, 9))


def _epochs(chance: Random) -> Step:
    kind = offset_for_leader_epoch
    request = kind.OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=tuple(
            kind.OffsetForLeaderTopic(
                topic=name, partitions=(kind.OffsetForLeaderPartition(partition=9),)
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.OffsetForLeaderEpochResponse, chance.randint(2, 4))


def _delete_records(chance: Random) -> Step:
    kind = delete_records
    request = kind.DeleteRecordsRequest(
        timeout_ms=5000,
        topics=tuple(
            kind.DeleteRecordsTopic(
                name=name,
                partitions=(
                    kind.DeleteRecordsPartition(partition_index=0, offset=chance.choice((0, 99))),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.DeleteRecordsResponse, chance.randint(0, 2))


def _find(chance: Random) -> Step:
    kind = chance.choice((0, 1))
    request = find_coordinator.FindCoordinatorRequest(
        key=chance.choice(IDS if kind else GROUPS), key_type=kind
    )
    return Step(None, request, find_coordinator.FindCoordinatorResponse, chance.randint(1, 3))


def _join(chance: Random) -> Step:
    request = join_group.JoinGroupRequest(
        group_id=chance.choice((*GROUPS, "")),
        session_timeout_ms=chance.choice((10_000, 10_000, 1)),
        rebalance_timeout_ms=10_000,
        member_id="m-1",
        protocol_type="consumer",
        protocols=(join_group.JoinGroupRequestProtocol(name="range", metadata=b"m"),),
    )
    return Step(None, request, join_group.JoinGroupResponse, chance.randint(2, 9))


def _sync(chance: Random) -> Step:
    version = chance.randint(0, 5)
    request = sync_group.SyncGroupRequest(
        group_id=chance.choice((*GROUPS, "")),
        generation_id=1,
        member_id="m-1",
        protocol_type="consumer" if chance.random() < 0.9 else None,
        protocol_name="range",
    )
    return Step(None, request, sync_group.SyncGroupResponse, version)


def _heartbeat(chance: Random) -> Step:
    request = heartbeat.HeartbeatRequest(
        group_id=chance.choice((*GROUPS, "")), generation_id=1, member_id="m-1"
    )
    return Step(None, request, heartbeat.HeartbeatResponse, chance.randint(0, 4))


def _leave(chance: Random) -> Step:
    version = chance.randint(0, 5)
    members = (
        leave_group.MemberIdentity(member_id="m-1"),
        leave_group.MemberIdentity(member_id="", group_instance_id="i-1"),
    )
    request = leave_group.LeaveGroupRequest(
        group_id=chance.choice((*GROUPS, "")),
        member_id="m-1" if version < 3 else "",
        members=members if version >= 3 else (),
    )
    return Step(None, request, leave_group.LeaveGroupResponse, version)


def _commit(chance: Random) -> Step:
    kind = offset_commit
    request = kind.OffsetCommitRequest(
        group_id=chance.choice(GROUPS),
        generation_id_or_member_epoch=chance.choice((-1, -1, 3)),
        topics=tuple(
            kind.OffsetCommitRequestTopic(
                name=name,
                topic_id=id_of(name),
                partitions=(
                    kind.OffsetCommitRequestPartition(
                        partition_index=chance.choice((0, 9)), committed_offset=5
                    ),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.OffsetCommitResponse, chance.randint(2, 9))


def _fetch_offsets(chance: Random) -> Step:
    kind = offset_fetch
    request = kind.OffsetFetchRequest(
        group_id=chance.choice(GROUPS),
        topics=tuple(
            kind.OffsetFetchRequestTopic(name=name, partition_indexes=(0,))
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.OffsetFetchResponse, chance.randint(1, 7))


def _delete_offsets(chance: Random) -> Step:
    kind = offset_delete
    request = kind.OffsetDeleteRequest(
        group_id=chance.choice(GROUPS),
        topics=tuple(
            kind.OffsetDeleteRequestTopic(
                name=name, partitions=(kind.OffsetDeleteRequestPartition(partition_index=0),)
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.OffsetDeleteResponse, 0)


def _init(chance: Random) -> Step:
    request = init_producer_id.InitProducerIdRequest(
        transactional_id=chance.choice((*IDS, "", None)),
        # Refused behind the permissions: ids would be the server's own.
        transaction_timeout_ms=chance.choice((0, 2**30)),
        producer_id=-1,
        producer_epoch=-1,
    )
    return Step(None, request, init_producer_id.InitProducerIdResponse, chance.randint(0, 5))


def _add_partitions(chance: Random) -> Step:
    kind = add_partitions_to_txn
    topics = tuple(
        kind.AddPartitionsToTxnTopic(name=name, partitions=(chance.choice((0, 9)),))
        for name in _names(chance)
    )
    request = kind.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=chance.choice(IDS),
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )
    return Step(None, request, kind.AddPartitionsToTxnResponse, chance.randint(0, 3))


def _add_offsets(chance: Random) -> Step:
    request = add_offsets_to_txn.AddOffsetsToTxnRequest(
        transactional_id=chance.choice(IDS),
        producer_id=7,
        producer_epoch=0,
        group_id=chance.choice(GROUPS),
    )
    kind = add_offsets_to_txn.AddOffsetsToTxnResponse
    return Step(None, request, kind, chance.randint(0, 4))


def _end(chance: Random) -> Step:
    request = end_txn.EndTxnRequest(
        transactional_id=chance.choice(IDS),
        producer_id=7,
        producer_epoch=0,
        committed=chance.random() < 0.5,
    )
    return Step(None, request, end_txn.EndTxnResponse, chance.randint(0, 5))


def _commit_in_transaction(chance: Random) -> Step:
    kind = txn_offset_commit
    request = kind.TxnOffsetCommitRequest(
        transactional_id=chance.choice(IDS),
        group_id=chance.choice(GROUPS),
        producer_id=7,
        producer_epoch=0,
        topics=tuple(
            kind.TxnOffsetCommitRequestTopic(
                name=name,
                partitions=(
                    kind.TxnOffsetCommitRequestPartition(partition_index=9, committed_offset=5),
                ),
            )
            for name in _names(chance)
        ),
    )
    return Step(None, request, kind.TxnOffsetCommitResponse, chance.randint(0, 5))


MAKERS: tuple[Callable[[Random], Step], ...] = (
    _produce,
    _produce,
    _fetch,
    _fetch,
    _list_offsets,
    _epochs,
    _delete_records,
    _find,
    _join,
    _sync,
    _heartbeat,
    _leave,
    _commit,
    _fetch_offsets,
    _delete_offsets,
    _init,
    _add_partitions,
    _add_offsets,
    _end,
    _commit_in_transaction,
)
