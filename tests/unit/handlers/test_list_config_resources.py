"""ListConfigResources: types, their order, and refusals."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.list_config_resources import API
from doorkeeper_wire.messages.list_config_resources import ListConfigResourcesRequest
from testkit.acl import allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of

ALL = [(8, "1"), (4, "1"), (2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("types", "listed"),
    [((), ALL), ((2, 4), ALL[1:]), ((8,), ALL[:1]), ((16,), []), ((32,), [])],
)
async def test_types(types: tuple[int, ...], listed: list[tuple[int, str]]) -> None:
    """No type stands for all; topics need no permission of their own."""
    grant = allow("alice", AclOperation.DESCRIBE_CONFIGS, CLUSTER)
    node = await node_of(grant, topics=[a_topic("b"), a_topic("a")])

    response = answer(API, ListConfigResourcesRequest(resource_types=types), node, 1, user="alice")

    found = [(each.resource_type, each.resource_name) for each in response.config_resources]
    assert (response.error_code, found) == (0, listed)


@pytest.mark.parametrize("wanted", [0, 64])
async def test_an_unknown_type_refuses_the_request(wanted: int) -> None:
    """With 35, also beside a known one."""
    node = await node_of(secured=False)

    response = answer(API, ListConfigResourcesRequest(resource_types=(2, wanted)), node, 1)

    assert (response.error_code, response.config_resources) == (35, ())
