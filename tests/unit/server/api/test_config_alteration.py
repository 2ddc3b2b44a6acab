"""IncrementalAlterConfigs and AlterConfigs: what is judged before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import alter_configs, incremental_alter_configs
from doorkeeper.server.api.config_alteration import Verbatim, code_and_text
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.operations import Alteration, AlteredResource
from doorkeeper_wire.messages import alter_configs as messages
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from testkit.nodes import answer, node_of, on_the_wire, outcome
from testkit.plans import RecordingServices

TOPIC, BROKER, LOGGER, METRICS, GROUP = ConfigResourceType
SET, DELETE = 0, 1
ASKED = ("max.connections", SET, "5")


def resource(kind: int, name: str, *configs: tuple[str, int, str | None]) -> AlterConfigsResource:
    rows = (AlterableConfig(name=k, config_operation=o, value=v) for k, o, v in configs)
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=tuple(rows))


def asking(*resources: AlterConfigsResource, **fields: Any) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(resources=resources, **fields)


def told(response: Any) -> list[tuple[int, str | None]]:
    return [(row.error_code, row.error_message) for row in response.responses]


@pytest.mark.parametrize("version", [0, 1])
async def test_changes_are_submitted_in_request_order(version: int) -> None:
    node = await node_of()
    request = asking(
        resource(BROKER, "1", ASKED),
        resource(99, "x"),
        resource(TOPIC, "orders", ("retention.ms", DELETE, None)),
        resource(GROUP, "g"),
        resource(METRICS, "m"),
        validate_only=True,
    )

    made = outcome(incremental_alter_configs.API, request, node, version)

    assert isinstance(made, Update)
    services: Any = RecordingServices()
    await made.apply(services)
    assert services.asked == [
        AlteredResource(kind=BROKER, name="1", alterations=(Alteration(*ASKED),)),
        AlteredResource(
            kind=TOPIC, name="orders", alterations=(Alteration("retention.ms", DELETE, None),)
        ),
        AlteredResource(kind=GROUP, name="g", alterations=()),
        AlteredResource(kind=METRICS, name="m", alterations=()),
        True,
    ]
    refusal = ApiError(ErrorCode.INVALID_CONFIG, "no")
    response = on_the_wire(made.respond([None, refusal, None, None]), version)
    assert told(response) == [
        (0, None),
        (42, "Unknown resource type 99"),
        (40, "no"),
        (0, None),
        (0, None),
    ]
    assert [row.resource_name for row in response.responses] == ["1", "x", "orders", "g", "m"]


@pytest.mark.parametrize(
    ("refused", "code", "text"),
    [
        (resource(BROKER, "7"), 42, "Unexpected broker id, expected 1, but received 7"),
        (resource(BROKER, "x"), 42, "Node id must be an integer, but it is: x"),
        (resource(LOGGER, "7"), 42, "Unexpected node id. Expected 1, but received 7"),
                (resource(BROKER, "", (ASKED[0], SET, None)), 42,
         "Null value not supported for : max.connections"),
        (resource(BROKER, "", ASKED, ASKED), 42, "Error due to duplicate config keys"),
        (resource(BROKER, "", ("node.id", SET, "5")), 42,
         "Cannot update these configs dynamically: [node.id]"),
        (resource(LOGGER, "1"), 42,
         "levels of loggers are changed by doorkeeper.log.levels of the broker"),
    ],
)  # fmt: skip
async def test_invalid_changes_are_rejected(
    refused: AlterConfigsResource, code: int, text: str
) -> None:
    """Each resource alone, with a broker's text."""
    node = await node_of()

    assert told(answer(incremental_alter_configs.API, asking(refused), node, 1)) == [(code, text)]


async def test_unauthorized_changes_are_rejected() -> None:
    """31, 29 and 30 with their texts, for loggers none; faults of a broker's keys come first."""
    node = await node_of()
    request = asking(
        resource(BROKER, "1", ASKED),
        resource(BROKER, "", ("node.id", SET, "5")),
        resource(TOPIC, "orders"),
        resource(LOGGER, "7"),
        resource(METRICS, "m"),
        resource(GROUP, "g"),
    )

    assert told(answer(incremental_alter_configs.API, request, node, 1, "alice")) == [
        (31, "Cluster authorization failed."),
        (42, "Cannot update these configs dynamically: [node.id]"),
        (29, "Topic authorization failed."),
        (31, None),
        (31, "Cluster authorization failed."),
        (30, "Group authorization failed."),
    ]
    kinds = [line.split()[:3] for line in node.lines()]
    assert [(level, verdict) for level, verdict, _ in kinds] == [("INFO", "Denied")] * 5
    assert {operation for _, _, operation in kinds} == {"ALTER_CONFIGS"}


@pytest.mark.parametrize("key", ["num.artitions", "doorkeeper.nothing", "listeners"])
async def test_unsupported_keys_are_reported_to_authorized_callers(key: str) -> None:
    request = asking(resource(BROKER, "1", (key, SET, "5")))
    node = await node_of()

    assert told(answer(incremental_alter_configs.API, request, node, 1, "alice")) == [
        (31, "Cluster authorization failed.")
    ]
    assert told(answer(incremental_alter_configs.API, request, node, 1))[0][0] == 42


def replacing(kind: int, name: str, **configs: str | None) -> messages.AlterConfigsRequest:
    rows = tuple(
        messages.AlterableConfig(name=key.replace("_", "."), value=value)
        for key, value in configs.items()
    )
    resource = messages.AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    return messages.AlterConfigsRequest(resources=(resource,))


@pytest.mark.parametrize("version", [0, 2])
async def test_alter_configs_replaces_all_keys(version: int) -> None:
    """The shell is told so."""
    node = await node_of()

    made = outcome(alter_configs.API, replacing(4, "1", max_connections="5"), node, version)

    assert isinstance(made, Update)
    services: Any = RecordingServices()
    await made.apply(services)
    resource, _ = services.asked
    assert resource == AlteredResource(
        kind=BROKER,
        name="1",
        alterations=(Alteration("max.connections", 0, "5"),),
        replaces=True,
    )
    assert resource.current_values(node.settings.dynamic) == {}
    (row,) = on_the_wire(made.respond([None]), version).responses
    assert (row.error_code, row.resource_type, row.resource_name) == (0, 4, "1")


async def test_alter_configs_rejections() -> None:
    node = await node_of()

    (null,) = answer(alter_configs.API, replacing(4, "1", max_connections=None), node, 2).responses
    (static,) = answer(alter_configs.API, replacing(4, "1", node_id="7"), node, 2).responses
    (denied,) = answer(alter_configs.API, replacing(2, "orders"), node, 2, "alice").responses

    (loggers,) = answer(alter_configs.API, replacing(8, "1"), node, 2).responses

    assert loggers.error_message == "Unknown resource type 8"
    assert null.error_message == "Null value not supported for : max.connections"
    assert static.error_message == "Cannot update these configs dynamically: [node.id]"
    assert (denied.error_code, denied.error_message) == (29, "Topic authorization failed.")


def test_error_texts_match_the_broker() -> None:
    text = "Cluster authorization failed."

    assert code_and_text(Verbatim(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, text)) == (31, text)
    assert code_and_text(ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, text)) == (31, None)
    assert code_and_text(None) == (0, None)
