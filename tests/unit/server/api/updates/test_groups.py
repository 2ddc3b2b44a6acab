"""Committing and deleting offsets: planned on the newest state, visible when durable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.updates.groups import commit_offsets, delete_groups, delete_offsets
from doorkeeper.server.api.updates.topics import change_topics
from doorkeeper.server.resources.groups import Committer, all_groups
from doorkeeper.server.schema.declared import StoredOffset, StoredTopic
from testkit.memory_logs import LogServices, memory_log
from testkit.nodes import a_group
from testkit.reconfigured import CONTEXT

if TYPE_CHECKING:
    from doorkeeper.server.state.log import StateLog

NO_MEMBER = Committer("", None, -1, 8)


def row(group_id: str, partition: str, offset: int = 5) -> StoredOffset:
    return StoredOffset(group_id, partition, b"t" * 16, offset, -1, "")


def services(log: StateLog) -> Any:
    return LogServices(log)


async def test_offsets_and_groups_come_and_go() -> None:
    """Each call is a revision; the group stays without offsets until it is deleted."""
    async with memory_log() as log:
        wanted = [row("g", "a-0"), row("g", "a-1")]
        results = [await commit_offsets(services(log), CONTEXT, NO_MEMBER, wanted)]
        assert sorted(log.state.offsets) == wanted

        results.append(await delete_offsets(services(log), CONTEXT, "g", [("a", 0), ("a", 1)]))
        assert list(log.state.offsets.of_group("g")) == [""]

        results.append(await delete_groups(services(log), CONTEXT, ["g", "h"]))
        assert list(log.state.offsets) == []

    assert [list(each.values) for each in results] == [[0, 0], [0, 0], [0, 69]]
    assert log.state.revision == 3


async def test_a_topic_takes_its_offsets_along() -> None:
    """In the revision of its deletion; those of a topic that is not deleted stay."""
    topic = StoredTopic("a", b"t" * 16, 2, 1, {})
    async with memory_log() as log:
        await change_topics(services(log), CONTEXT, [topic])
        wanted = [row("g", "a-0"), row("g", "absent-0")]
        await commit_offsets(services(log), CONTEXT, NO_MEMBER, wanted)

        found = await change_topics(services(log), CONTEXT, deleted=["a", "absent"])

        assert [error is None for error in found.values] == [True, False]
        assert list(log.state.offsets) == wanted[1:]
        assert log.state.revision == 3


async def test_declared_groups_are_known() -> None:
    """Their members refuse commits, and they cannot be deleted."""
    declared = {"g": a_group("g"), "idle": a_group("idle", "Empty", members=())}
    async with memory_log() as log:
        log.amend(groups=declared)

        with pytest.raises(ApiError, match="UNKNOWN_MEMBER_ID"):
            await commit_offsets(services(log), CONTEXT, NO_MEMBER, [row("g", "a-0")])
        with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
            await delete_offsets(services(log), CONTEXT, "x", [("a", 0)])
        await commit_offsets(services(log), CONTEXT, NO_MEMBER, [row("idle", "a-0")])
        found = await delete_groups(services(log), CONTEXT, ["g", "idle"])

        assert list(found.values) == [68, 44]
        assert all_groups(log.state.groups, log.state.offsets)["idle"] is declared["idle"]
        assert list(log.state.offsets) == [row("idle", "a-0")]
