"""Released client libraries manage ACLs, topics and groups, and see what a broker shows them.

Each client does all that it can (clients differ in what they offer and tell); the expectations
hold on Kafka 4.3.1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from testkit.clients import CLIENTS, Client, WrongPython
from testkit.kafka_acl_rows import ANY, Acls, Rows, allow, deny
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import USERS, Target

Talk = Callable[..., list[Any]]

TELLS: Mapping[str, frozenset[str]] = {
    "kafka-python-3": frozenset({"operations", "instance_id", "topics", "assignment"}),
    "kafka-python-2.0.2": frozenset({"topics", "assignment"}),
    "confluent-kafka": frozenset({"operations", "instance_id", "assignment"}),
    "aiokafka": frozenset(),
    "kafkajs": frozenset({"topics", "assignment"}),
}
"""What each client tells beyond what all tell."""

ALWAYS = {
    *("cluster_id", "controller", "nodes", "error", "partitions", "state", "members"),
    *("client_id", "host"),
}

CLUSTER = "ALTER ALTER_CONFIGS CLUSTER_ACTION CREATE DESCRIBE DESCRIBE_CONFIGS IDEMPOTENT_WRITE"
TOPIC = "ALTER ALTER_CONFIGS CREATE DELETE DESCRIBE DESCRIBE_CONFIGS READ WRITE"
GROUP = "ALTER_CONFIGS DELETE DESCRIBE DESCRIBE_CONFIGS READ"
"""All operations of a resource, which a super user has."""

REFUSALS: Mapping[str, Mapping[str, str]] = {
    "kafka-python-3": {
        "cluster": "ClusterAuthorizationFailedError",
        "topic": "TopicAuthorizationFailedError",
        "group": "GroupAuthorizationFailedError",
        "config": "KeyError",  # It drops the refusal and returns no configuration.
    },
    "kafka-python-2.0.2": {
        "cluster": "ClusterAuthorizationFailedError",
        "topic": "TopicAuthorizationFailedError",
        "group": "GroupAuthorizationFailedError",
        "config": "(31, 'Cluster authorization failed.')",
    },
    "confluent-kafka": {
        "cluster": "CLUSTER_AUTHORIZATION_FAILED",
        "topic": "TOPIC_AUTHORIZATION_FAILED",
        "group": "GROUP_AUTHORIZATION_FAILED",
        "config": "CLUSTER_AUTHORIZATION_FAILED",
    },
    "aiokafka": {
        "cluster": "ClusterAuthorizationFailedError",
        "topic": "TopicAuthorizationFailedError",
        "group": "GroupAuthorizationFailedError",
        "config": "ClusterAuthorizationFailedError",
    },
    "kafkajs": {
        "cluster": "Cluster authorization failed",
        "topic": "Topic authorization failed",
        "group": "KafkaJSGroupCoordinatorNotFound",
        "config": "Cluster authorization failed",
    },
}
"""How each client tells that it was refused."""


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """Each client in turn."""
    found: Client = request.param
    return found


@pytest.fixture
def talk(client: Client, target: Target, acls: Acls) -> Talk:
    """Hold a conversation: as nobody on the open listener, or as a user on the SASL listener."""

    def results(
        *operations: tuple[str, Mapping[str, Any]], user: str | None = None, password: str = ""
    ) -> list[Any]:
        address = target.plain if user is None else target.sasl
        login = None if user is None else (user, password or USERS[user])
        try:
            return client.talk(address, *operations, login=login)
        except WrongPython as reason:
            pytest.skip(str(reason))
        except Unavailable as missing:
            cannot(str(missing))

    return results


def values(results: list[Any]) -> list[Any]:
    """Return the values of results that must all have succeeded."""
    failed = [result for result in results if "value" not in result]
    assert failed == []
    return [result["value"] for result in results]


def refusal(result: Any) -> str:
    """Return a failure's class and text; a call that names several may list them as failed."""
    if "value" in result:
        return " ".join(result["value"]["failed"])
    return f"{result['error']}: {result['text']}"


def told(client: Client, whole: Any) -> Any:
    """Return what this client tells of a value."""
    if isinstance(whole, list):
        return [told(client, each) for each in whole]
    if not isinstance(whole, dict):
        return whole
    known = ALWAYS | TELLS[client.name]
    return {
        key: value if key == "assignment" else told(client, value)
        for key, value in whole.items()
        if key in known
    }


def settled(target: Target, seen: Callable[[], Any], expected: Any) -> None:
    """Require what is seen. A broker shows its topics a little later, and is asked again."""
    found = seen()
    for _ in range(20 if target.is_kafka else 0):
        if found == expected:
            break
        found = seen()
    assert found == expected


def bindings(rows: Rows) -> list[list[str]]:
    """Return rows as a conversation takes and gives them."""
    return [list(row) for row in sorted(rows)]


WORLD = frozenset().union(
    allow("User:bob", "READ DESCRIBE", "TOPIC orders"),
    allow("User:bob", "WRITE", "TOPIC bob- PREFIXED", hosts=["10.0.0.1"]),
    deny("User:*", "ALL", "GROUP *"),
    allow("User:bob", "ALTER IDEMPOTENT_WRITE", "CLUSTER kafka-cluster"),
    allow("User:bob", "WRITE", "TRANSACTIONAL_ID x"),
)
"""ACLs in whose kinds every client has words."""


@pytest.mark.parametrize("user", [None, "admin"])
def test_acls(talk: Talk, acls: Acls, user: str | None) -> None:
    """ACLs are created, described and deleted: prefixed, denying, with wildcards and hosts."""
    rows = bindings(WORLD)

    (made,) = values(talk(("create_acls", {"bindings": rows}), user=user))
    assert made == {"created": rows, "failed": []}
    assert acls.are(WORLD)

    (found,) = values(talk(("describe_acls", {"wanted": ANY}), user=user))
    assert found == rows

    gone, left = [r for r in rows if r[0] == "TOPIC"], {r for r in WORLD if r[0] != "TOPIC"}
    topics = ["TOPIC", None, "ANY", None, None, "ANY", "ANY"]
    (removed,) = values(talk(("delete_acls", {"filters": [topics]}), user=user))
    assert removed == gone
    assert acls.are(frozenset(left))


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (["TOPIC", "foo", "LITERAL", None, None, "ANY", "ANY"], "foo"),
        (["TOPIC", "foo", "PREFIXED", None, None, "ANY", "ANY"], "foo-prefix"),
        (["TOPIC", "foo", "ANY", None, None, "ANY", "ANY"], "foo foo-prefix"),
        (["TOPIC", "foo", "MATCH", None, None, "ANY", "ANY"], "foo foo-prefix star fo-prefix"),
        (["ANY", None, "ANY", "User:eve", None, "ANY", "ANY"], "star"),
        (["ANY", None, "ANY", None, None, "WRITE", "ALLOW"], "fo-prefix"),
        (["ANY", None, "ANY", None, "10.0.0.1", "ANY", "DENY"], "group"),
    ],
)
def test_filters(talk: Talk, acls: Acls, wanted: list[str | None], chosen: str) -> None:
    """A describe filters by resource, pattern type, principal, host, operation and permission."""
    world = {
        "foo": allow("User:bob", "READ", "TOPIC foo"),
        "foo-prefix": allow("User:bob", "READ", "TOPIC foo PREFIXED"),
        "star": allow("User:eve", "READ", "TOPIC *"),
        "fo-prefix": allow("User:bob", "WRITE", "TOPIC fo PREFIXED"),
        "group": deny("User:bob", "READ", "GROUP foo", hosts=["10.0.0.1"]),
    }
    acls.put(*world.values())

    (found,) = values(talk(("describe_acls", {"wanted": wanted})))

    assert found == bindings(frozenset().union(*(world[name] for name in chosen.split())))


def test_bad_acl(talk: Talk, acls: Acls) -> None:
    """An ACL on a resource without a name is refused as an invalid request."""
    bad = ["TOPIC", "", "LITERAL", "User:bob", "*", "READ", "ALLOW"]

    (result,) = talk(("create_acls", {"bindings": [bad]}))

    said = refusal(result).replace("_", "").lower()
    assert "invalidrequest" in said or "request being malformed" in said
    assert acls.now() == frozenset()


def test_cluster(talk: Talk, client: Client, target: Target, acls: Acls) -> None:
    """Each client sees the one broker, the controller, the cluster id and its rights."""
    host, port = target.plain.split(":")

    (found,) = values(talk(("describe_cluster", {})))

    cluster_id = found.pop("cluster_id")
    assert len(cluster_id) == 22
    assert found == told(
        client,
        {"controller": 1, "nodes": [[1, host, int(port)]], "operations": CLUSTER.split()},
    )


@pytest.mark.parametrize("user", [None, "admin"])
def test_topics(talk: Talk, client: Client, target: Target, user: str | None) -> None:
    """Topics are created with their partitions, listed, described with rights, and deleted."""
    name = f"made-by-{client.name}"

    def ask(operation: str, **arguments: Any) -> Any:
        (value,) = values(talk((operation, arguments), user=user))
        return value

    assert ask("create_topics", topics={name: 3}) is None
    settled(target, lambda: ask("list_topics"), [name, "orders"])
    topic = {"error": 0, "partitions": 3, "operations": TOPIC.split()}
    assert ask("describe_topics", names=[name]) == {name: told(client, topic)}
    assert ask("delete_topics", names=[name]) is None
    settled(target, lambda: ask("list_topics"), ["orders"])


@pytest.mark.parametrize("user", [None, "admin"])
def test_groups(talk: Talk, client: Client, user: str | None) -> None:
    """Groups are listed, and described with members, assignments and rights."""
    listed, described = values(
        talk(("list_groups", {}), ("describe_groups", {"names": ["payments"]}), user=user)
    )

    assert listed == ["payments"]
    member = {
        "client_id": "orders-reader",
        "host": "/127.0.0.1",
        "instance_id": "reader-1",
        "topics": ["orders"],
        "assignment": {"orders": [0, 1]},
    }
    group = {"state": "Stable", "members": [member], "operations": GROUP.split()}
    assert described == {"payments": told(client, group)}


def test_unknown_group(talk: Talk, client: Client) -> None:
    """A group that is not there is Dead, or since version 6 of the API not found."""
    (found,) = values(talk(("describe_groups", {"names": ["none"]})))

    group: Any = {"state": "Dead", "members": [], "operations": GROUP.split()}
    if client.name == "kafka-python-3":
        group = {"error": "[Error 69] GroupIdNotFoundError: Group none not found."}
    assert found == {"none": told(client, group)}


def test_broker_configs(talk: Talk) -> None:
    """A broker's configuration is shown, and its secrets are null."""
    keys = ["authorizer.class.name", "super.users", "listener.name.sasl.plain.sasl.jaas.config"]

    (found,) = values(talk(("broker_configs", {"keys": keys})))

    standard = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert found == dict(zip(keys, (standard, None, None), strict=True))


def test_refused(talk: Talk, client: Client, acls: Acls) -> None:
    """A user without rights is refused each call that needs one, and sees nothing else."""
    kept = acls.put(allow("User:bob", "READ", "TOPIC orders"))
    row = bindings(allow("User:alice", "ALL", "TOPIC orders"))

    create, delete, make, drop, group, config = talk(
        ("create_acls", {"bindings": row}),
        ("delete_acls", {"filters": [ANY]}),
        ("create_topics", {"topics": {"mine": 1}}),
        ("delete_topics", {"names": ["orders"]}),
        ("describe_groups", {"names": ["payments"]}),
        ("broker_configs", {"keys": ["authorizer.class.name"]}),
        user="alice",
    )
    topics, groups = values(talk(("list_topics", {}), ("list_groups", {}), user="alice"))

    words = REFUSALS[client.name]
    assert words["cluster"] in refusal(create)
    assert words["cluster"] in refusal(delete)
    assert words["topic"] in refusal(make)
    assert words["topic"] in refusal(drop)
    assert words["group"] in refusal(group)
    assert words["config"] in refusal(config)
    assert topics == []
    assert groups == []
    assert acls.are(kept)


def test_refused_describe(talk: Talk, client: Client, acls: Acls) -> None:
    """A user without Describe on the cluster reads no ACL."""
    acls.put(allow("User:bob", "READ", "TOPIC orders"))

    (result,) = talk(("describe_acls", {"wanted": ANY}), user="alice")

    if client.name == "confluent-kafka":
        assert result == {"value": []}  # librdkafka drops this refusal.
    else:
        assert REFUSALS[client.name]["cluster"] in refusal(result)


def test_own_rights(talk: Talk, client: Client, acls: Acls) -> None:
    """A user sees their own operations, implied ones included, and not those denied."""
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

    if "operations" in TELLS[client.name]:
        assert cluster["operations"] == ["ALTER", "DESCRIBE"]
        assert topics["orders"]["operations"] == ["DELETE", "DESCRIBE", "READ"]
        assert groups["payments"]["operations"] == ["DESCRIBE", "READ"]
    assert topics["orders"]["error"] == 0
    assert groups["payments"]["state"] == "Stable"


TELLS_LOGIN_FAILURE: Mapping[str, str] = {
    # It takes the closed connection for a network fault and tries again until its time is up.
    "kafka-python-3": "Unable to bootstrap",
    # It logs in with raw tokens, to which a broker answers by closing, without a word.
    "kafka-python-2.0.2": "Error receiving reply from server",
    "confluent-kafka": "Authentication failed: Invalid username or password",
    "aiokafka": "Authentication failed: Invalid username or password",
    "kafkajs": "Authentication failed: Invalid username or password",
}
"""What each client makes of a refused login, told by its exception or its log."""


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", "secret")])
def test_wrong_password(talk: Talk, client: Client, user: str, password: str) -> None:
    """A wrong password and an unknown user fail alike, within seconds."""
    (result,) = talk(("describe_acls", {"wanted": ANY}), user=user, password=password)

    assert result["seconds"] < 5
    said = f"{result['error']} {result['text']} {result['log']}"
    assert TELLS_LOGIN_FAILURE[client.name] in said
