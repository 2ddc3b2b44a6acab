"""DescribeCluster and UnregisterBroker."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.handlers import describe_cluster, unregister_broker
from doorkeeper_wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest
from doorkeeper_wire.messages.unregister_broker import UnregisterBrokerRequest
from testkit.acl import allow
from testkit.nodes import CLUSTER, CLUSTER_ID, answer, brokers_of, node_of, on_the_wire, outcome

UNASKED = -(2**31)


async def test_anybody_may_ask_a_broker() -> None:
    """Cluster id, controller and nodes without a permission, and without a word in the audit."""
    node = await node_of()

    answered = answer(describe_cluster.API, DescribeClusterRequest(), node, 2, user="nobody")

    assert (answered.error_code, answered.error_message) == (0, None)
    assert (answered.cluster_id, answered.controller_id) == (CLUSTER_ID, 1)
    assert answered.endpoint_type == 1
    assert answered.brokers == (
        DescribeClusterBroker(broker_id=1, host="broker.example", port=9092, rack="rack-a"),
    )
    assert answered.cluster_authorized_operations == UNASKED
    assert node.lines() == []


@pytest.mark.parametrize(
    ("user", "mask", "level"), [("admin", 8096, "DEBUG"), ("alice", 1 << 8, "DEBUG"),
                                ("nobody", 0, "INFO")]
)  # fmt: skip
async def test_the_mask_needs_describe_on_the_cluster(user: str, mask: int, level: str) -> None:
    """0 for a caller that may not describe the cluster; that denial is audited."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE, CLUSTER))
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    assert (
        answer(describe_cluster.API, request, node, 0, user=user).cluster_authorized_operations
        == mask
    )
    assert node.lines()[0].startswith(f"{level} ")


@pytest.mark.parametrize(
    ("wanted", "own", "code", "text"),
    [
        (2, "BROKER", 114, "wanted an endpoint of type CONTROLLER"),
        (1, "CONTROLLER", 114, "wanted an endpoint of type BROKER"),
        (0, "BROKER", 115, "Unsupported endpoint type 0"),
        (-1, "CONTROLLER", 115, "Unsupported endpoint type -1"),
    ],
)
async def test_a_listener_answers_its_own_kind(wanted: int, own: str, code: int, text: str) -> None:
    """Another endpoint type is refused, and nothing else is told."""
    node = await node_of()
    request = DescribeClusterRequest(endpoint_type=wanted)
    if code == 114:
        text = f"The request was sent to an endpoint of type {own}, but we {text}"

    refused = answer(describe_cluster.API, request, node, 2, controller=own == "CONTROLLER")

    assert (refused.error_code, refused.error_message) == (code, text)
    assert (refused.cluster_id, refused.brokers) == ("", ())


async def test_a_controller_asks_for_alter() -> None:
    """31 for the whole request, before the endpoint type is looked at."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE, CLUSTER))
    request = DescribeClusterRequest(endpoint_type=9)

    refused = answer(describe_cluster.API, request, node, 2, user="alice", controller=True)

    assert refused.error_code == 31
    assert refused.error_message == "Request Request(described) needs ALTER permission."


@pytest.mark.parametrize(
    ("version", "wanted", "nodes"),
    [
        (1, False, [(1, False)]),
        (2, False, [(1, False)]),
        (2, True, [(1, False), (2, True)]),
    ],
)
async def test_fenced_nodes_are_listed_on_request(
    version: int, wanted: object, nodes: list[tuple[int, bool]]
) -> None:
    """From version 2 on."""
    node = await node_of()
    node.listed = brokers_of(1, fenced=[2])
    request = DescribeClusterRequest(include_fenced_brokers=bool(wanted))

    answered = answer(describe_cluster.API, request, node, version)

    assert [(each.broker_id, each.is_fenced) for each in answered.brokers] == nodes
    assert answered.controller_id == 1


REQUEST = UnregisterBrokerRequest(broker_id=7)


class Removals:
    """Services that keep the ids of the nodes to remove."""

    def __init__(self) -> None:
        self.removed: list[int] = []

    async def unregister_broker(self, node_id: int) -> None:
        self.removed.append(node_id)


@pytest.mark.parametrize("controller", [False, True])
async def test_the_node_is_removed(controller: object) -> None:
    """With ALTER on the cluster, on listeners of both kinds."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    services: Any = Removals()

    made = outcome(
        unregister_broker.API, REQUEST, node, 0, user="alice", controller=bool(controller)
    )

    assert isinstance(made, Update)
    results = await made.apply(services)
    assert services.removed == [7]
    answered: Any = on_the_wire(made.respond(results.values), 0)
    assert (answered.error_code, answered.error_message) == (0, None)
