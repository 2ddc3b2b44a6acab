"""What a node changes for its connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.app.node import NodeServices
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.schema.change import SERVER, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic
from doorkeeper.server.state.store import StorageError
from testkit.reconfigured import SET, running

if TYPE_CHECKING:
    from pathlib import Path


async def test_topics_are_created_and_altered(tmp_path: Path) -> None:
    """The configuration of a topic is there after a restart, and the topic keeps its id."""
    row = StoredTopic("orders", bytes(range(16)), 1, 1, {})
    async with running(tmp_path, "") as server:
        created = edit(TOPIC, set=[row])
        await server.assembly.log.submit(lambda _state: (created, None), SERVER)
        assert await server.alter(
            "orders", ("retention.ms", SET, "5"), kind=ConfigResourceType.TOPIC
        ) == [None]
        assert server.assembly.node.topics.names() == ("orders",)

    async with running(tmp_path, "") as server:
        topic = server.assembly.node.topics.get("orders")
        assert topic is not None
        assert (topic.topic_id, topic.configs) == (bytes(range(16)), {"retention.ms": "5"})


class OneOther:
    """A membership of which node 2 is down, and one whose store is away."""

    async def unregister(self, node_id: int) -> bool:
        if node_id == 3:
            raise StorageError("away")
        return node_id == 2


async def test_nodes_are_unregistered() -> None:
    """An unknown id has the controller's text; an embedded store has no other nodes."""
    services = NodeServices(cast("Any", None), cast("Any", None), None, 1.0)
    text = "Broker ID 2 is not currently registered"
    with pytest.raises(ApiError, match=text) as caught:
        await services.unregister_broker(2)
    assert caught.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED

    services.membership = cast("Any", OneOther())

    await services.unregister_broker(2)
    with pytest.raises(ApiError, match="Broker ID 4 is not currently registered"):
        await services.unregister_broker(4)
    with pytest.raises(ApiError) as caught:
        await services.unregister_broker(3)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
