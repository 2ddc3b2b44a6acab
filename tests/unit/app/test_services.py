"""What the node does for connections besides authorizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.node import AlterConfigs, ChangeTopics
from doorkeeper.storage.contract import StoredTopic
from doorkeeper_wire.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from testkit.reconfigured import CONTEXT, SET, running

if TYPE_CHECKING:
    from pathlib import Path


async def test_topics_are_made_and_altered(tmp_path: Path) -> None:
    """The settings of a topic are there after a restart, and the topic keeps its id."""
    made = StoredTopic("orders", bytes(range(16)), 1, 1, {})
    topics = ChangeTopics(created=(made,), finish=lambda _: IncrementalAlterConfigsResponse())
    async with running(tmp_path, "") as server:
        await server.assembly.topic_changes.change_topics(topics, CONTEXT)
        assert await server.alter("orders", ("retention.ms", SET, "5"), is_topic=True) == [None]
        assert server.assembly.node.topics.names() == ("orders",)

    async with running(tmp_path, "") as server:
        topic = server.assembly.node.topics.get("orders")
        assert topic is not None
        assert (topic.topic_id, topic.configs) == (bytes(range(16)), {"retention.ms": "5"})


async def test_nothing_to_change_is_done(tmp_path: Path) -> None:
    """A request without resources has no results."""
    change = AlterConfigs(
        resources=(), validate_only=False, finish=lambda _: IncrementalAlterConfigsResponse()
    )
    async with running(tmp_path, "") as server:
        assert await server.assembly.config_changes.alter_configs(change, CONTEXT) == []
