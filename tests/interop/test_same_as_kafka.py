"""Kafka's own AdminClient sees the same on Doorkeeper as on a real broker, call by call."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testkit.kafka_acl_rows import ANY, Acls
from testkit.kafka_jars import BROKERS, Unavailable, cannot
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import CallFailed, KafkaTools

BOB = ["TOPIC", "orders", "LITERAL", "User:bob", "*", "READ", "ALLOW"]
DENIED = ["GROUP", "pay", "PREFIXED", "User:alice", "127.0.0.1", "DELETE", "DENY"]
ALICE = ["GROUP", "*", "LITERAL", "User:alice", "*", "ALL", "ALLOW"]
OWN = ["TOPIC", "own-", "PREFIXED", "User:alice", "*", "CREATE", "ALLOW"]

SCENARIO: tuple[tuple[str | None, str, dict[str, Any]], ...] = (
    ("admin", "describeAcls", {"filter": ANY}),
    ("alice", "describeAcls", {"filter": ANY}),
    ("alice", "createAcls", {"bindings": [BOB]}),
    ("alice", "deleteAcls", {"filters": [ANY]}),
    ("admin", "createAcls", {"bindings": [BOB, DENIED, ALICE, OWN, BOB]}),
    ("admin", "createAcls", {"bindings": [["TOPIC", "", *BOB[2:]]]}),
    ("admin", "createAcls", {"bindings": [["CLUSTER", "other", *BOB[2:]]]}),
    ("admin", "createAcls", {"bindings": [[*BOB[:3], "bob", *BOB[4:]]]}),
    ("admin", "createAcls", {"bindings": [[*BOB[:4], "no host", *BOB[5:]]]}),
    ("admin", "createAcls", {"bindings": [["USER", "User:o", *BOB[2:]]]}),
    ("admin", "createAcls", {"bindings": [[*BOB[:4], "10.0.0.0/8", *BOB[5:]]]}),
    ("admin", "createAcls", {"bindings": [[*BOB[:4], "10.0.0.0/33", *BOB[5:]]]}),
    ("admin", "createAcls", {"bindings": [[*BOB[:4], "::ffff:10.0.0.0/104", *BOB[5:]]]}),
    ("admin", "describeAcls", {"filter": [*ANY[:4], "10.0.0.0/8", *ANY[5:]]}),
    ("admin", "describeAcls", {"filter": ["TOPIC", "orders", "MATCH", *ANY[3:]]}),
    ("admin", "describeAcls", {"filter": ["TOPIC", "orders", "PREFIXED", *ANY[3:]]}),
    (None, "describeCluster", {}),
    ("alice", "describeCluster", {}),
    (None, "createTopic", {"name": "orders", "partitions": 3}),
    (None, "createTopic", {"name": "orders", "partitions": 3}),
    (None, "createTopic", {"name": "or/ders", "partitions": 3}),
    (None, "createTopic", {"name": "zero", "partitions": 0}),
    ("alice", "createTopic", {"name": "mine", "partitions": 1}),
    ("alice", "createTopic", {"name": "own-1", "partitions": 1}),
    (None, "describeTopics", {"names": ["orders"]}),
    ("alice", "describeTopics", {"names": ["orders"]}),
    ("alice", "describeTopics", {"names": ["own-1"]}),
    ("bob", "describeTopics", {"names": ["orders"]}),
    (None, "describeTopics", {"names": ["none"]}),
    ("alice", "describeGroups", {"names": ["pay-1"]}),
    ("bob", "describeGroups", {"names": ["pay-1"]}),
    ("alice", "deleteTopic", {"name": "own-1"}),
    (None, "deleteTopic", {"name": "own-1"}),
    (None, "deleteTopic", {"name": "none"}),
    ("admin", "deleteAcls", {"filters": [["TOPIC", None, *ANY[2:]], BOB]}),
    ("admin", "describeAcls", {"filter": ANY}),
)
"""User (None: the open listener), call of AdminCalls.java and its arguments, in order."""


@pytest.fixture(scope="module", params=BROKERS)
def both(
    request: pytest.FixtureRequest, kafka_tools: Callable[[str], KafkaTools]
) -> Iterator[tuple[Target, Target]]:
    """Give a Doorkeeper and a broker of each release in turn, both fresh."""
    kafka_tools("4.3.1")
    ours = doorkeeper_target(version=request.param)
    try:
        theirs = kafka_target(request.param)
    except Unavailable as missing:
        ours.close()
        cannot(str(missing))
    yield ours, theirs
    ours.close()
    theirs.close()


def play(tools: KafkaTools, target: Target) -> list[Any]:
    """Return what each step of the scenario gives, without what no two clusters share."""
    seen: list[Any] = []
    acls = Acls(tools, target)
    for user, call, arguments in SCENARIO:
        try:
            value = tools.call(call, target.config(user), **arguments)
        except CallFailed as error:
            value = str(error)
        seen.append(comparable(value))
        settle(tools, target, acls)
    return seen


def settle(tools: KafkaTools, target: Target, acls: Acls) -> None:
    """Wait until a broker shows what it acknowledged: its ACLs and topics stay the same a while."""
    if not target.is_kafka:
        return
    last, same = None, 0
    while same < 5:
        now = acls.now(), str(tools.call("describeCluster", target.config()))
        last, same = now, same + 1 if now == last else 0


def comparable(value: Any) -> Any:
    """Return a value without addresses and ids, and a refusal without the request's own text."""
    if isinstance(value, str):
        return value.split(": Request Request(")[0]
    if isinstance(value, dict) and "clusterId" in value:
        return {**value, "clusterId": len(value["clusterId"]), "nodes": len(value["nodes"])}
    if isinstance(value, list):
        return sorted(value)
    return value


def test_scenario(kafka_tools: Callable[[str], KafkaTools], both: tuple[Target, Target]) -> None:
    """Each call gives the same values, or fails with the same exception and text."""
    ours, theirs = (play(kafka_tools("4.3.1"), target) for target in both)

    for (user, call, arguments), mine, real in zip(SCENARIO, ours, theirs, strict=True):
        assert mine == real, (user, call, arguments)
