"""UnregisterBroker: the permission, the update, the row."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.handlers.unregister_broker import API
from doorkeeper_wire.messages.unregister_broker import UnregisterBrokerRequest
from testkit.acl import allow
from testkit.nodes import CLUSTER, answer, node_of, on_the_wire, outcome

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

    made = outcome(API, REQUEST, node, 0, user="alice", controller=bool(controller))

    assert isinstance(made, Update)
    results = await made.apply(services)
    assert services.removed == [7]
    answered: Any = on_the_wire(made.respond(results.values), 0)
    assert (answered.error_code, answered.error_message) == (0, None)


async def test_who_may_not_alter_the_cluster_is_refused() -> None:
    """31, as for each permission on the cluster."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE, CLUSTER))

    assert answer(API, REQUEST, node, 0, user="alice").error_code == 31
