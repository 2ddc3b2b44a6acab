"""DescribeConfigs and ListConfigResources."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import describe_configs, list_config_resources
from doorkeeper.server.resources.settings.topic import topic_settings
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import RESOURCE_CONFIG, StoredResourceConfig
from doorkeeper.server.state.state import apply_at_once
from doorkeeper_wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from doorkeeper_wire.messages.list_config_resources import ListConfigResourcesRequest
from testkit.acl import allow, topic
from testkit.nodes import CLUSTER, a_topic, answer, node_of

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DESCRIBE_CONFIGS = AclOperation.DESCRIBE_CONFIGS
LONG_TEXT = (
    "This most likely occurs because of a request being malformed by the client library or the"
    " message was sent to an incompatible broker. See the broker logs for more details."
)


def asking(*resources: tuple[int, str], keys: Any = None, **fields: Any) -> DescribeConfigsRequest:
    """Return a request for resources, each of them with the same choice of settings."""
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for kind, name in resources
        ),
        **fields,
    )


def heads(answered: Any) -> list[tuple[Any, ...]]:
    """Return type, name, code and text of each result."""
    return [
        (row.resource_type, row.resource_name, row.error_code, row.error_message)
        for row in answered.results
    ]


def values(result: Any) -> dict[str, str | None]:
    """Return the settings of a result."""
    return {row.name: row.value for row in result.configs}


async def test_topic_configs_override_defaults() -> None:
    configs = {"retention.ms": " 5 ", "preallocate": "TRUE", "cleanup.policy": "compact, delete"}
    node = await node_of(topics=[a_topic("orders", configs=configs)])

    (result,) = answer(describe_configs.API, asking((TOPIC, "orders")), node, 4).results

    assert (result.error_code, result.error_message) == (0, "")
    defaults = {
        name: row.default for name, row in topic_settings().items() if row.default is not None
    }
    assert values(result) == {
        **defaults,
        "retention.ms": "5",
        "preallocate": "true",
        "cleanup.policy": "compact,delete",
    }


async def test_broker_configs_hide_secrets() -> None:
    properties = "super.users=User:x\nnum.partitions=3\nauthorizer.class.name=\n"
    node = await node_of(properties=properties)

    (result,) = answer(
        describe_configs.API, asking((BROKER, "1"), include_synonyms=True), node, 4
    ).results

    rows = {row.name: row for row in result.configs}
    assert rows["num.partitions"].value == "3"
    assert [each.source for each in rows["num.partitions"].synonyms] == [4, 5]
    assert rows["num.partitions"].read_only
    assert (rows["super.users"].value, rows["super.users"].is_sensitive) == (None, True)
    assert "User:x" not in str(result)


@pytest.mark.parametrize(
    ("kind", "name", "code", "text"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (TOPIC, "..", 17, "Topic name is invalid: '..' is not allowed"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "3", 42, "Unexpected broker id, expected 1 but received 3"),
        (METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (GROUP, "", 42, "Group name must not be empty"),
    ],
)
async def test_invalid_resources_are_rejected(kind: int, name: str, code: int, text: str) -> None:
    node = await node_of(topics=[a_topic("orders")])

    wrong, right = answer(
        describe_configs.API, asking((kind, name), (TOPIC, "orders")), node, 4
    ).results

    assert (wrong.resource_type, wrong.resource_name) == (kind, name)
    assert (wrong.error_code, wrong.error_message, wrong.configs) == (code, text, ())
    assert right.error_code == 0


async def test_logger_levels_are_described() -> None:
    """By logger, in Kafka's names of levels."""
    properties = "doorkeeper.log.levels=kafka.authorizer.logger=DEBUG,doorkeeper.net=TRACE\n"
    node = await node_of(properties=properties)

    (result,) = answer(describe_configs.API, asking((LOGGER, "1")), node, 4).results

    assert values(result) == {
        "doorkeeper.net": "TRACE",
        "kafka.authorizer.logger": "DEBUG",
        "root": "INFO",
    }
    assert {row.config_source for row in result.configs} == {6}


async def test_group_and_client_metrics_configs_are_described() -> None:
    """With their sources, before the server's; lists without what they repeat."""
    node = await node_of()
    session = "consumer.session.timeout.ms"
    change = edit(
        RESOURCE_CONFIG,
        set=[
            StoredResourceConfig("group", "g", session, " 50000"),
            StoredResourceConfig("client-metrics", "m", "metrics", "a, b,a"),
        ],
    )
    node.state = apply_at_once(node.state, change)
    asked = asking((METRICS, "m"), (GROUP, "g"), (GROUP, "other"), include_synonyms=True)

    metrics, group, other = answer(describe_configs.API, asked, node, 4).results

    assert values(metrics)["metrics"] == "a,b"
    assert values(other)[session] == "45000"
    rows = {row.name: row for row in (*metrics.configs, *group.configs)}
    assert (rows["metrics"].config_source, rows[session].config_source) == (7, 8)
    assert [(each.name, each.value, each.source) for each in rows[session].synonyms] == [
        (session, "50000", 8),
        (f"group.{session}", "45000", 5),
    ]
    assert rows["interval.ms"].config_source == 5


async def test_each_resource_type_has_its_permission() -> None:
    """Refusals come last, in their order; each mention of a resource is asked about."""
    node = await node_of(
        allow("alice", DESCRIBE_CONFIGS, topic("orders")), topics=[a_topic("orders")]
    )
    request = asking(
        (BROKER, "1"), (TOPIC, "nope"), (GROUP, "g"), (TOPIC, "orders"), (LOGGER, "9"),
        (METRICS, "m"), (TOPIC, "orders"), keys=("flush.ms",),
    )  # fmt: skip

    answered = answer(describe_configs.API, request, node, 4, user="alice")

    cluster = "Cluster authorization failed."
    assert heads(answered) == [
        (TOPIC, "orders", 0, ""),
        (TOPIC, "orders", 0, ""),
        (BROKER, "1", 31, cluster),
        (TOPIC, "nope", 29, "Topic authorization failed."),
        (GROUP, "g", 30, "Group authorization failed."),
        (LOGGER, "9", 31, cluster),
        (METRICS, "m", 31, cluster),
    ]
    assert node.lines() == [
        "INFO Denied DESCRIBE_CONFIGS Cluster:LITERAL:kafka-cluster 1",
        "INFO Denied DESCRIBE_CONFIGS Topic:LITERAL:nope 1",
        "INFO Denied DESCRIBE_CONFIGS Group:LITERAL:g 1",
        "DEBUG Allowed DESCRIBE_CONFIGS Topic:LITERAL:orders 1",
        "INFO Denied DESCRIBE_CONFIGS Cluster:LITERAL:kafka-cluster 1",
        "INFO Denied DESCRIBE_CONFIGS Cluster:LITERAL:kafka-cluster 1",
        "DEBUG Allowed DESCRIBE_CONFIGS Topic:LITERAL:orders 1",
    ]


@pytest.mark.parametrize("kind", [0, 64])
async def test_unknown_type_rejects_the_request(kind: int) -> None:
    """42 with the stock text in every row."""
    node = await node_of(topics=[a_topic("orders")])

    refused = answer(describe_configs.API, asking((TOPIC, "orders"), (kind, "x")), node, 4)

    assert heads(refused) == [(TOPIC, "orders", 42, LONG_TEXT), (kind, "x", 42, LONG_TEXT)]


ALL = [(8, "1"), (4, "1"), (2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("types", "listed"), [((), ALL), ((2, 4), ALL[1:]), ((8,), ALL[:1]), ((16,), []), ((32,), [])]
)
async def test_list_config_resources_by_type(
    types: tuple[int, ...], listed: list[tuple[int, str]]
) -> None:
    """No type stands for all; topics need no permission of their own."""
    grant = allow("alice", AclOperation.DESCRIBE_CONFIGS, CLUSTER)
    node = await node_of(grant, topics=[a_topic("b"), a_topic("a")])

    response = answer(
        list_config_resources.API,
        ListConfigResourcesRequest(resource_types=types),
        node,
        1,
        user="alice",
    )

    found = [(each.resource_type, each.resource_name) for each in response.config_resources]
    assert (response.error_code, found) == (0, listed)


@pytest.mark.parametrize("wanted", [0, 64])
async def test_list_config_resources_of_an_unknown_type(wanted: int) -> None:
    """With 35, also beside a known one."""
    node = await node_of(secured=False)

    response = answer(
        list_config_resources.API, ListConfigResourcesRequest(resource_types=(2, wanted)), node, 1
    )

    assert (response.error_code, response.config_resources) == (35, ())
