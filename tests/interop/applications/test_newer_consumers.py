"""confluent-kafka's consumers of the newer protocol (KIP-848) are members of the test broker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient, NewTopic

from doorkeeper.testing import DoorkeeperServer
from testkit.clients import Client
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.or_skip import or_skip

CLIENT = Client(name="confluent-kafka", driver="confluent_kafka_members.py")
READ_GROUP = {
    "resourceType": "GROUP",
    "name": "readers",
    "principal": "User:svc",
    "operation": "READ",
}
DESCRIBE_TOPIC = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:svc",
    "operation": "DESCRIBE",
}
READ_TOPIC = {**DESCRIBE_TOPIC, "operation": "READ"}
JOIN = ("join", {"name": "a", "group": "readers", "topics": ["orders"]})
WAIT = ("wait_for", {"sizes": {"a": 4}})


def talk(server: DoorkeeperServer, *operations: tuple[str, Any], user: str | None = None) -> Any:
    login = None if user is None else (user, "secret")
    return or_skip(lambda: CLIENT.talk(server.bootstrap_servers, *operations, login=login))


def test_members_join_and_leave() -> None:
    """The second one gets half of the partitions, and the first one all of them afterwards."""
    with DoorkeeperServer(topics=[{"name": "orders", "partitions": 4}], records=True) as server:
        results = talk(
            server,
            JOIN,
            WAIT,
            ("join", {"name": "b", "group": "readers", "topics": ["orders"]}),
            ("wait_for", {"sizes": {"a": 2, "b": 2}}),
            ("produce", {"topic": "orders", "count": 40}),
            ("read", {"count": 40}),
            ("commit", {"name": "b"}),
            ("leave", {"name": "a"}),
            ("wait_for", {"sizes": {"b": 4}}),
            ("produce", {"topic": "orders", "count": 4}),
            ("read", {"count": 44}),
            ("commit", {"name": "b"}),
        )

    assert [each for each in results if "error" in each] == []
    values = [each["value"] for each in results]
    shared, committed = values[3], values[6]
    assert [number for _, number in values[1]["a"]] == [0, 1, 2, 3]
    assert sorted(number for each in shared.values() for _, number in each) == [0, 1, 2, 3]
    assert values[5] == list(range(40))
    assert committed == [[number, 10] for _, number in shared["b"]]
    assert values[10] == sorted([*range(40), *range(4)])
    assert values[11] == [[number, 11] for number in range(4)]


@pytest.mark.parametrize(
    ("acls", "code"),
    [
        ([DESCRIBE_TOPIC, READ_TOPIC], "GROUP_AUTHORIZATION_FAILED"),
        ([READ_GROUP], "TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_member_without_permission(acls: list[Any], code: str) -> None:
    with DoorkeeperServer(
        listeners=["SASL_PLAINTEXT"],
        users={"svc": "secret"},
        topics=[{"name": "orders", "partitions": 4}],
        acls=acls,
        records=True,
    ) as server:
        (_, refused) = talk(server, JOIN, WAIT, user="svc")

    assert code in refused["text"]


TARGETS: dict[str, Callable[[], Target]] = {
    "kafka": lambda: kafka_target("4.3.1"),
    "doorkeeper": lambda: doorkeeper_target(doorkeeper_test_broker="true"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_group_changes_its_protocol_while_running(name: str) -> None:
    target = or_skip(TARGETS[name])
    old = {"name": "a", "group": "readers", "topics": ["orders"], "group.protocol": "classic"}
    try:
        with closing(KafkaAdminClient(bootstrap_servers=target.plain)) as admin:
            admin.create_topics([NewTopic("orders", 4, 1)])
        results = or_skip(
            lambda: CLIENT.talk(
                target.plain,
                ("join", old),
                WAIT,
                ("join", {"name": "b", "group": "readers", "topics": ["orders"]}),
                ("wait_for", {"sizes": {"a": 2, "b": 2}}),
                ("produce", {"topic": "orders", "count": 40}),
                ("read", {"count": 40}),
                ("commit", {"name": "a"}),
                ("commit", {"name": "b"}),
                ("leave", {"name": "b"}),
                WAIT,
                ("produce", {"topic": "orders", "count": 4}),
                ("read", {"count": 44}),
                ("commit", {"name": "a"}),
            )
        )
    finally:
        target.close()

    assert [each for each in results if "error" in each] == []
    values = [each["value"] for each in results]
    assert values[5] == list(range(40))
    assert values[11] == sorted([*range(40), *range(4)])
    assert values[12] == [[number, 11] for number in range(4)]
