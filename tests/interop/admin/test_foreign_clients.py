"""Released client libraries as users: who may, who may not, and what each library makes of it.

The expectations hold on Kafka 4.3.1. What a super user is answered, ``test_same_tools`` compares
call by call.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from testkit.clients import CLIENTS, Client
from testkit.kafka_acl_rows import ANY, Acls, allow, deny
from testkit.kafka_target import USERS, Target
from testkit.or_skip import or_skip

Talk = Callable[..., list[Any]]

REFUSALS: Mapping[str, tuple[str, str, str]] = {
    **dict.fromkeys(
        ("kafka-python-3", "kafka-python-2.0.2", "aiokafka"),
        (
            "ClusterAuthorizationFailedError",
            "TopicAuthorizationFailedError",
            "GroupAuthorizationFailedError",
        ),
    ),
    "confluent-kafka": (
        "CLUSTER_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    "kafkajs": (
        "Cluster authorization failed",
        "Topic authorization failed",
        "KafkaJSGroupCoordinatorNotFound",
    ),
}
"""How each client reports a refusal for the cluster, a topic and a group."""

WRONG_PASSWORD: Mapping[str, str] = {
    # It takes the closed connection for a network fault and tries again until its time is up.
    "kafka-python-3": "Unable to bootstrap",
    # It logs in with raw tokens, to which a broker answers by closing, without a word.
    "kafka-python-2.0.2": "Error receiving reply from server",
    **dict.fromkeys(
        ("confluent-kafka", "aiokafka", "kafkajs"),
        "Authentication failed: Invalid username or password",
    ),
}
"""What each client makes of a refused login, in its exception or its log."""

SHOW_OPERATIONS = ("kafka-python-3", "confluent-kafka")
SHOW_ASSIGNMENTS = ("kafka-python-3", "kafka-python-2.0.2", "confluent-kafka", "kafkajs")


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """Each client in turn."""
    found: Client = request.param
    return found


@pytest.fixture
def talk(client: Client, target: Target, acls: Acls) -> Talk:
    """Hold a conversation as a user on the SASL listener."""

    def results(
        *operations: tuple[str, Mapping[str, Any]], user: str, password: str = ""
    ) -> list[Any]:
        login = (user, password or USERS[user])
        return or_skip(lambda: client.talk(target.sasl, *operations, login=login))

    return results


def values(results: list[Any]) -> list[Any]:
    """Return the values of results that must all have succeeded."""
    assert [result for result in results if "value" not in result] == []
    return [result["value"] for result in results]


def refusal(result: Any) -> str:
    """Return a failure's class and text; a call that names several may list them as failed."""
    if "value" in result:
        return " ".join(result["value"]["failed"])
    return f"{result['error']}: {result['text']}"


WORLD = frozenset().union(
    allow("User:bob", "READ DESCRIBE", "TOPIC orders"),
    allow("User:bob", "WRITE", "TOPIC bob- PREFIXED", hosts=["10.0.0.1"]),
    deny("User:*", "ALL", "GROUP *"),
    allow("User:bob", "ALTER IDEMPOTENT_WRITE", "CLUSTER kafka-cluster"),
    allow("User:bob", "WRITE", "TRANSACTIONAL_ID x"),
)
"""ACLs in whose kinds every client has words."""


def test_super_user_manages_acls(talk: Talk, acls: Acls) -> None:
    rows = [list(row) for row in sorted(WORLD)]
    topics = ["TOPIC", None, "ANY", None, None, "ANY", "ANY"]

    made, described, removed = values(
        talk(
            ("create_acls", {"bindings": rows}),
            ("describe_acls", {"wanted": ANY}),
            ("delete_acls", {"filters": [topics]}),
            user="admin",
        )
    )

    assert made == {"created": rows, "failed": []}
    assert described == rows
    assert removed == [row for row in rows if row[0] == "TOPIC"]
    assert acls.are(frozenset(row for row in WORLD if row[0] != "TOPIC"))


def test_user_without_permissions(talk: Talk, client: Client, acls: Acls) -> None:
    kept = acls.put(allow("User:bob", "READ", "TOPIC orders"))
    (row,) = allow("User:alice", "ALL", "TOPIC orders")

    create, delete, make, drop, group = talk(
        ("create_acls", {"bindings": [list(row)]}),
        ("delete_acls", {"filters": [ANY]}),
        ("create_topics", {"topics": {"mine": 1}}),
        ("delete_topics", {"names": ["orders"]}),
        ("describe_groups", {"names": ["payments"]}),
        user="alice",
    )
    lists = values(talk(("list_topics", {}), ("list_groups", {}), user="alice"))

    on_cluster, on_topic, on_group = REFUSALS[client.name]
    assert on_cluster in refusal(create)
    assert on_cluster in refusal(delete)
    assert on_topic in refusal(make)
    assert on_topic in refusal(drop)
    assert on_group in refusal(group)
    assert lists == [[], []]
    assert acls.are(kept)


def test_authorized_operations_of_a_user(talk: Talk, client: Client, acls: Acls) -> None:
    acls.put(
        allow("User:alice", "DELETE READ WRITE", "TOPIC orders"),
        deny("User:alice", "WRITE", "TOPIC orders"),
        allow("User:alice", "READ", "GROUP pay PREFIXED"),
        allow("User:alice", "ALTER", "CLUSTER kafka-cluster"),
    )

    cluster, topics, groups = values(
        talk(
            ("describe_cluster", {}),
            ("describe_topics", {"names": ["orders"]}),
            ("describe_groups", {"names": ["payments"]}),
            user="alice",
        )
    )

    if client.name in SHOW_OPERATIONS:
        assert cluster["operations"] == ["ALTER", "DESCRIBE"]
        assert topics["orders"]["operations"] == ["DELETE", "DESCRIBE", "READ"]
        assert groups["payments"]["operations"] == ["DESCRIBE", "READ"]
    assert topics["orders"]["error"] == 0
    assert groups["payments"]["state"] == "Stable"
    if client.name in SHOW_ASSIGNMENTS:
        (member,) = groups["payments"]["members"]
        assert member["assignment"] == {"orders": [0, 1]}


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", "secret")])
def test_wrong_password(talk: Talk, client: Client, user: str, password: str) -> None:
    """A wrong password and an unknown user fail alike, within seconds."""
    (result,) = talk(("describe_acls", {"wanted": ANY}), user=user, password=password)

    assert result["seconds"] < 5
    said = f"{result['error']} {result['text']} {result['log']}"
    assert WRONG_PASSWORD[client.name] in said
