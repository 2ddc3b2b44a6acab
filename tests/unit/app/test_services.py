"""What a node changes for its connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.kinds.declared import StoredTopic
from doorkeeper.updates.topics import change_topics
from testkit.memory_logs import LogServices
from testkit.reconfigured import CONTEXT, SET, running

if TYPE_CHECKING:
    from pathlib import Path


async def test_topics_are_created_and_altered(tmp_path: Path) -> None:
    """The configuration of a topic is there after a restart, and the topic keeps its id."""
    row = StoredTopic("orders", bytes(range(16)), 1, 1, {})
    async with running(tmp_path, "") as server:
        services: Any = LogServices(server.assembly.log)
        await change_topics(services, CONTEXT, [row])
        assert await server.alter("orders", ("retention.ms", SET, "5"), is_topic=True) == [None]
        assert server.assembly.node.topics.names() == ("orders",)

    async with running(tmp_path, "") as server:
        topic = server.assembly.node.topics.get("orders")
        assert topic is not None
        assert (topic.topic_id, topic.configs) == (bytes(range(16)), {"retention.ms": "5"})


async def test_nothing_to_change_is_done(tmp_path: Path) -> None:
    """A request without resources has no results."""
    async with running(tmp_path, "") as server:
        results = await server.assembly.config_changes.alter_configs(
            [], CONTEXT, validate_only=False
        )

        assert list(results.values) == []
