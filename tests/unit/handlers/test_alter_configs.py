"""AlterConfigs: all keys of a resource at once."""

from __future__ import annotations

import pytest

from doorkeeper.api.node import Update
from doorkeeper.configs.operations import Alteration, AlteredResource
from doorkeeper.handlers.alter_configs import API
from doorkeeper_wire.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from testkit.nodes import answer, arguments, node_of, on_the_wire, outcome


def asking(kind: int, name: str, **configs: str | None) -> AlterConfigsRequest:
    rows = tuple(
        AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
    )
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=rows)
    return AlterConfigsRequest(resources=(resource,))


@pytest.mark.parametrize("version", [0, 2])
async def test_what_is_named_replaces_all(version: int) -> None:
    """The shell is told so."""
    node = await node_of()

    made = outcome(API, asking(4, "1", max_connections="5"), node, version)

    assert isinstance(made, Update)
    (resource,) = arguments(made)[1]
    assert resource == AlteredResource(
        is_topic=False,
        name="1",
        alterations=(Alteration("max.connections", 0, "5"),),
        replaces=True,
    )
    assert resource.current_values(node.settings.dynamic) == {}
    (row,) = on_the_wire(made.respond([None]), version).responses
    assert (row.error_code, row.resource_type, row.resource_name) == (0, 4, "1")


async def test_the_refusals_are_those_of_the_newer_api() -> None:
    """A null is refused, and so is a key that needs a restart, and who may not."""
    node = await node_of()

    (null,) = answer(API, asking(4, "1", max_connections=None), node, 2).responses
    (static,) = answer(API, asking(4, "1", node_id="7"), node, 2).responses
    (denied,) = answer(API, asking(2, "orders"), node, 2, "alice").responses

    (loggers,) = answer(API, asking(8, "1"), node, 2).responses

    assert loggers.error_message == "Unknown resource type 8"
    assert null.error_message == "Null value not supported for : max.connections"
    assert static.error_message == "Cannot update these configs dynamically: [node.id]"
    assert (denied.error_code, denied.error_message) == (29, "Topic authorization failed.")
