"""The registry of APIs, and APIs without a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import registry
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.api.registry import APIS, ApiTable, apis
from doorkeeper.server.api.unserved import api_of
from doorkeeper.server.config.kafka_versions import TEST_API_VERSIONS
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.declared import tree
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.api_versions import ApiVersion
from testkit.acl import DESCRIBE, READ, WRITE, allow, group, topic
from testkit.nodes import CLUSTER, ANode, a_topic, context_of, node_of
from testkit.wire_values import Filling, refused_apis

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api


ALL = list(apis(optional=True).values())


def names(each: Api) -> str:
    """Name a case for its API."""
    return each.name


def sample(each: Api) -> Any:
    """Return a request that wants an answer: with acks 0 Produce does not."""
    return each.request(acks=1) if each.key == 0 else each.request()


def test_key_has_one_handler() -> None:
    with pytest.raises(ValueError, match="key 3: Metadata and Metadata"):
        ApiTable([APIS[3], APIS[3]])


@pytest.mark.parametrize("each", ALL, ids=names)
def test_every_error_can_be_encoded_in_every_version(each: Api) -> None:
    for version in range(each.min_version, each.max_version + 1):
        request, _ = each.request.decode(sample(each).encode(version), 0, version)

        refused = each.refuse(request, version, RuntimeError("a secret of the server"))

        assert refused is not None
        assert b"secret" not in refused.encode(version)


def test_optional_apis_are_served_on_request() -> None:
    """JoinGroup, for an old librdkafka; never on listeners for controllers."""
    added = {each.api_key for each in apis(optional=True).ranges(controller=False)} - set(APIS)

    assert added == {11}
    assert apis().get(11) is None
    assert apis(optional=True)[29] is APIS[29]
    assert apis(optional=True).ranges(controller=True) == APIS.ranges(controller=True)


def test_package_adds_apis_to_the_table() -> None:
    listed = {each.api_key: each for each in APIS.ranges(controller=False)}
    fetch = replace(APIS[3], key=1, name="Fetch", min_version=4, max_version=18, in_thread=False)
    metadata, produce = (replace(APIS[key], max_version=2, in_thread=False) for key in (3, 0))

    table = APIS.with_apis([fetch, metadata, produce])

    assert [table[key] for key in (0, 1, 3)] == [produce, fetch, metadata]
    ranges = {each.api_key: each for each in table.ranges(controller=False)}
    assert ranges[1] == ApiVersion(api_key=1, min_version=4, max_version=18)
    assert ranges[0].max_version == ranges[3].max_version == 2
    assert ranges.keys() - listed.keys() == {1}
    assert 1 not in APIS
    with pytest.raises(ValueError, match="key 1: Fetch and Fetch"):
        APIS.with_apis([fetch, fetch])


def test_controller_listeners_serve_what_kafka_tools_need() -> None:
    assert [each.api_key for each in APIS.ranges(controller=True)] == [
        17, 18, 19, 20, 29, 30, 31, 32, 33, 36, 37, 38, 39, 40, 41, 43, 44, 45,
        46, 49, 51, 55, 57, 60, 64,
    ]  # fmt: skip


REMOVED = {4, 5, 6, 7}
"""What went with Kafka 4.0."""

REFUSED = refused_apis()

Values = dict[str, Any]


def filled(key: int, version: int) -> Values:
    """Return a value for each field of a request."""
    request: Any = tree(REFUSED[key].messages[0].name, version)
    return Filling(sparse=False).record(request)


def transaction(name: str) -> ResourcePattern:
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, PatternType.LITERAL)


def refused(key: int, version: int, values: Values, node: ANode, user: str = "alice") -> Values:
    """Return the response as a client reads it."""
    api = api_of(key)
    assert api is not None
    asked, answer = (tree(message.name, version) for message in REFUSED[key].messages)
    body = asked.build(values)
    request, end = api.request.read(body, 0, version)
    assert end == len(body)
    try:
        response: Any = api.handle(request, context_of(api, version, user), node)
    except ApiError as error:
        response = api.refuse(request, version, error)
    found: Values = answer.parse(response.encode(version))
    return found


def test_every_api_has_a_handler_or_an_error() -> None:
    """All keys that Kafka 4.4 knows, by the names and headers that they have here."""
    assert set(REFUSED) | set(registry.APIS) == set(API_NAMES) - REMOVED
    assert api_of(3) is None
    assert api_of(4) is None


@pytest.mark.parametrize("key", REFUSED)
async def test_unserved_api_returns_unsupported_version_to_super_users(key: int) -> None:
    """With 35 at the top, or in every row; the text names the API where there is room for one."""
    versions = REFUSED[key].messages[0].versions
    node = await node_of()
    for version in range(versions.low, versions.high + 1):
        response = refused(key, version, filled(key, version), node, "admin")

        codes = list(found("error_code", response)) + list(found("partition_error_code", response))
        assert 35 in codes
        assert set(codes) <= {0, 35}
        texts = {text for text in found("error_message", response) if text}
        assert texts <= {f"Doorkeeper does not serve {API_NAMES[key]}."}


def found(name: str, value: Any) -> Any:
    """Yield the values of a field, wherever it stands."""
    for key, item in value.items() if isinstance(value, dict) else ():
        if key == name:
            yield item
        yield from found(name, item)
    for item in value if isinstance(value, list | tuple) else ():
        yield from found(name, item)


CLUSTER_ONLY = [
    key
    for key in REFUSED
    if [(row.resource, row.when, row.refusal) for row in REQUIRED[key]]
    == [("CLUSTER", "always", 31)]
]


@pytest.mark.parametrize("key", CLUSTER_ONLY)
async def test_unserved_api_requires_the_cluster_permission(key: int) -> None:
    """With 31, and the operation in the text; with the permission the answer is 35."""
    [row] = REQUIRED[key]
    operation = AclOperation[row.operation]
    version = REFUSED[key].messages[0].versions.high
    values = filled(key, version)
    denying, allowing = await node_of(), await node_of(allow("alice", operation, CLUSTER))

    denied = refused(key, version, values, denying)
    passed = refused(key, version, values, allowing)

    assert set(found("error_code", denied)) == {31}
    texts = {text for text in found("error_message", denied) if text}
    assert texts <= {f"Request Request(described) needs {operation.name} permission."}
    assert denying.lines() == [f"INFO Denied {operation.name} Cluster:LITERAL:kafka-cluster 1"]
    assert set(found("error_code", passed)) == {35}


async def test_unserved_rows_are_authorized_individually() -> None:
    """A denied topic has 29, in all of its partitions; the others 35; nothing is left out."""
    node = await node_of(
        allow("alice", WRITE, transaction("t")),
        allow("alice", READ, group("g")),
        allow("alice", READ, topic("orders")),
    )
    partitions = [{"partition_index": 0}, {"partition_index": 3}]
    topics = [{"name": name, "partitions": partitions} for name in ("secret", "orders")]
    asked: Values = {"transactional_id": "t", "group_id": "g", "topics": topics}

    response = refused(28, 2, asked, node)

    rows = [
        (each["name"], [(row["partition_index"], row["error_code"]) for row in each["partitions"]])
        for each in response["topics"]
    ]
    assert rows == [("secret", [(0, 29), (3, 29)]), ("orders", [(0, 35), (3, 35)])]
    assert node.lines()[2:] == [
        "INFO Denied READ Topic:LITERAL:secret 1",
        "DEBUG Allowed READ Topic:LITERAL:orders 1",
    ]


async def test_denied_rows_replace_the_top_level_error() -> None:
    """Fetch has a code of its own since version 7: 35 where nothing is denied."""
    node = await node_of(allow("alice", READ, topic("orders")), topics=[a_topic("orders")])
    ids = {"orders": a_topic("orders").topic_id}

    def fetched(version: int, *names: str) -> Values:
        topics = [
            {"topic": name, "topic_id": ids.get(name, b"?" * 16), "partitions": [{"partition": 7}]}
            for name in names
        ]
        return refused(1, version, {"topics": topics}, node)

    whole = fetched(12, "orders")
    by_rows = fetched(12, "orders", "secret")
    older = fetched(4, "orders")
    by_id = fetched(13, "orders", "nothing")

    assert (whole["error_code"], whole["responses"]) == (35, [])
    assert by_rows["error_code"] == 0
    assert [each["partitions"][0]["error_code"] for each in by_rows["responses"]] == [35, 29]
    assert [each["partitions"][0]["partition_index"] for each in by_rows["responses"]] == [7, 7]
    assert older["responses"][0]["partitions"][0]["error_code"] == 35
    assert by_id["error_code"] == 35


async def test_follower_fetch_requires_cluster_action() -> None:
    node = await node_of(allow("alice", READ, topic("orders")))
    topics = [{"topic": "orders", "partitions": [{"partition": 0}]}]

    assert refused(1, 14, {"replica_id": 2, "topics": []}, node)["error_code"] == 29
    assert refused(1, 12, {"replica_id": -1, "topics": topics}, node)["error_code"] == 35
    assert node.lines()[0] == "INFO Denied CLUSTER_ACTION Cluster:LITERAL:kafka-cluster 1"


async def test_one_denied_topic_denies_a_heartbeat() -> None:
    """Its response has no rows: 29 for all of it. No subscription asks for nothing."""
    node = await node_of(allow("alice", READ, group("g")), allow("alice", DESCRIBE, topic("a")))
    asked: Values = {"group_id": "g", "member_id": "m", "subscribed_topic_names": ["a", "b"]}

    assert refused(68, 1, asked, node)["error_code"] == 29
    assert refused(68, 1, asked | {"subscribed_topic_names": ["a"]}, node)["error_code"] == 35
    assert refused(68, 1, asked | {"subscribed_topic_names": None}, node)["error_code"] == 35


@pytest.mark.parametrize("key", REFUSED)
def test_truncated_request_is_malformed(key: int) -> None:
    api = api_of(key)
    assert api is not None
    version = api.max_version
    whole = tree(f"{api.name}Request", version).build(filled(key, version))

    for size in (0, len(whole) // 2, len(whole) - 1):
        with pytest.raises(Malformed):
            api.request.read(whole[:size], 0, version)


async def test_either_of_two_permissions_is_sufficient() -> None:
    topics = [{"name": "a", "partition_indexes": [4]}]
    asked: Values = {"markers": [{"producer_id": 9, "topics": topics}]}
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    nothing = await node_of()

    passed = refused(27, 1, asked, node)
    denied = refused(27, 1, asked, nothing)

    assert passed["markers"][0]["topics"][0]["partitions"][0]["error_code"] == 35
    assert (denied["markers"][0]["producer_id"], list(found("error_code", denied))) == (9, [31])
    assert [line.split()[0] for line in nothing.lines()] == ["TRACE", "INFO"]


def test_version_cap_limits_each_api() -> None:
    table = APIS.capped(TEST_API_VERSIONS.parse("2.8"))
    fetch = replace(APIS[3], key=1, name="Fetch", min_version=4, max_version=18, in_thread=False)
    heartbeat = replace(APIS[3], key=68, name="ConsumerGroupHeartbeat", max_version=1)

    added = table.with_apis([fetch, heartbeat])

    ranges = {each.api_key: each for each in added.ranges(controller=False)}
    assert ranges[1] == ApiVersion(api_key=1, min_version=4, max_version=12)
    assert ranges[18] == ApiVersion(api_key=18, min_version=0, max_version=3)
    assert ranges[29] == ApiVersion(api_key=29, min_version=0, max_version=2)
    assert 68 not in added
    assert 69 not in added
    assert APIS[29].max_version == 3


def test_version_cap_applies_to_unserved_apis() -> None:
    """Of the APIs without a handler: Fetch up to version 12 in 2.8, and none that came later."""
    table = APIS.capped(TEST_API_VERSIONS.parse("2.8"))

    fetch = table.refusing(1, 4)

    assert fetch is not None
    assert (fetch.min_version, fetch.max_version) == (4, 12)
    assert table.refusing(68, 0) is None
    assert APIS.refusing(68, 0) is api_of(68)


@pytest.mark.parametrize(("text", "listed"), [("2.8", [(18, 0, 3)]), ("2.3", [])])
def test_version_cap_applies_to_api_versions(text: str, listed: list[tuple[int, int, int]]) -> None:
    """Beside 35; a broker before 2.4 named nothing (KIP-511)."""
    api = APIS.capped(TEST_API_VERSIONS.parse(text))[18]

    refused: Any = api.refuse(None, 4, ApiError(ErrorCode.UNSUPPORTED_VERSION))

    assert refused.error_code == 35
    assert [(row.api_key, row.min_version, row.max_version) for row in refused.api_keys] == listed
