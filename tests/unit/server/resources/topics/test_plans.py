"""Creating, deleting and altering topics: planned on the newest state, visible when durable."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import Alteration, AlteredResource
from doorkeeper.server.resources.topics.plans import plan_alteration, plan_creation, plan_deletion
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic
from doorkeeper.server.state.outcome import commit
from doorkeeper.server.state.store import StorageError
from testkit.hand_store import HandStore
from testkit.memory_logs import memory_log
from testkit.reconfigured import CONTEXT
from testkit.state_logs import turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State


def row(name: str, **configs: str) -> StoredTopic:
    return StoredTopic(name, name.encode().ljust(16, b"."), 1, 1, configs)


def topics(*names: str) -> Topics:
    return Topics().with_changes(map(row, names), ())


def create(log: StateLog, *names: str) -> asyncio.Task[list[ApiError | None]]:
    def plan(state: State) -> Any:
        return plan_creation(state.topics, map(row, names))

    return asyncio.ensure_future(commit(log, plan, CONTEXT))


def altered(name: str, value: str = "5") -> AlteredResource:
    return AlteredResource(ConfigResourceType.TOPIC, name, (Alteration("retention.ms", 0, value),))


def codes(errors: Sequence[ApiError | None]) -> list[int]:
    return [0 if error is None else error.code for error in errors]


def test_valid_changes_are_made() -> None:
    state = topics("b", "c", "d")

    created, errors = plan_creation(state, [row("b"), row("e"), row("e"), row("f")])
    deleted, absent = plan_deletion(state, ["c", "c", "x"])

    assert created == edit(TOPIC, set=[row("e"), row("f")])
    assert codes(errors) == [36, 0, 36, 0]
    assert str(errors[0]) == "Topic 'b' already exists."
    assert deleted == edit(TOPIC, deleted=[row("c")])
    assert codes(absent) == [0, 3, 3]


def test_alteration_keeps_the_topic() -> None:
    state = topics("a")
    same = AlteredResource(ConfigResourceType.TOPIC, "a", (Alteration("x", 1, None),))
    changed = row("a", **{"retention.ms": "5"})

    assert plan_alteration(state, altered("a"), Policies()) == edit(TOPIC, set=[changed])
    assert plan_alteration(state, same, Policies()) == {}
    with pytest.raises(ApiError, match="does not exist"):
        plan_alteration(state, altered("b"), Policies())


async def test_topic_is_visible_once_durable() -> None:
    async with memory_log(store := HandStore(edit(TOPIC, set=[row("a")]))) as log:
        lost = create(log, "a", "b")
        await turns()
        store.deliver(StorageError("disk full"))
        with pytest.raises(ApiError) as caught:
            await lost
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        created = create(log, "a", "b")
        await turns()
        again = create(log, "b")
        await turns()
        assert log.state.topics.names() == ("a",)
        assert not created.done()
        store.deliver()

        assert codes(await created) == [36, 0]
        assert codes(await again) == [36]
        assert log.state.topics.names() == ("a", "b")

    (entry,) = store.entries
    assert entry.author == Author("User:admin", "10.0.0.1", "PLAINTEXT", "client-1", "", 7)
    assert entry.change == edit(TOPIC, set=[row("b")])
