"""Changes of the configuration of groups and of subscriptions to client metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.errors import ApiError
from doorkeeper.server.config.settings import default_of
from doorkeeper.server.resources.policies.contract import (
    ConfigAlteration,
    ConfigResourceType,
    PolicyViolation,
)
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import Alteration, AlteredResource
from doorkeeper.server.resources.settings.resources import plan_alteration
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import RESOURCE_CONFIG, StoredResourceConfig
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.outcome import commit
from testkit.memory_logs import memory_log
from testkit.reconfigured import CONTEXT

if TYPE_CHECKING:
    from doorkeeper.server.state.log import StateLog

SET, DELETE, APPEND = 0, 1, 2
METRICS = ConfigResourceType.CLIENT_METRICS
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


class Recorder(Policies):
    """A policy that records what it is asked, and refuses what it is told to."""

    def __init__(self, refused: str = "") -> None:
        super().__init__()
        self.asked: list[ConfigAlteration] = []
        self._refused = refused

    def check_alteration(self, alteration: ConfigAlteration) -> None:
        self.asked.append(alteration)
        if alteration.resource_name == self._refused:
            raise PolicyViolation("no")


def number(key: str) -> int:
    return int(default_of(key) or "no default")


def altered(
    name: str,
    *alterations: tuple[str, int, str | None],
    kind: int = ConfigResourceType.GROUP,
    replaces: bool = False,
) -> AlteredResource:
    changes = tuple(Alteration(*each) for each in alterations)
    return AlteredResource(kind, name, changes, replaces=replaces)


async def alter(
    log: StateLog,
    resource: AlteredResource,
    policy: Policies | None = None,
) -> None:
    await commit(
        log,
        lambda state: (
            plan_alteration(state.resource_configs, resource, number, policy or Policies()),
            None,
        ),
        CONTEXT,
    )


async def test_values_are_stored_by_resource() -> None:
    """Keys are set and deleted; a replacement drops the others; equal values are no change."""
    async with memory_log(store := MemoryStore()) as log:
        await alter(log, altered("g", (SESSION, SET, "50000"), (HEARTBEAT, SET, "6000")))
        await alter(log, altered("g", (SESSION, SET, "50000")))
        await alter(log, altered("m", ("metrics", SET, "*"), kind=METRICS))
        await alter(log, altered("g", (HEARTBEAT, DELETE, None), ("absent", DELETE, None)))
        configs = log.state.resource_configs
        assert dict(configs.of(("group", "g"))) == {SESSION: "50000"}
        assert (configs.names("group"), configs.names("client-metrics")) == (["g"], ["m"])
        assert dict(configs.of(("group", "m"))) == {}

        await alter(log, altered("g", (HEARTBEAT, SET, "7000"), replaces=True))
        assert dict(log.state.resource_configs.of(("group", "g"))) == {HEARTBEAT: "7000"}
        await alter(log, altered("g", replaces=True))
        assert log.state.resource_configs.names("group") == []

    changes = [entry.change for entry in store.entries]
    assert changes[0] == edit(
        RESOURCE_CONFIG,
        set=[
            StoredResourceConfig("group", "g", HEARTBEAT, "6000"),
            StoredResourceConfig("group", "g", SESSION, "50000"),
        ],
    )
    assert len([change for change in changes if change]) == 5


@pytest.mark.parametrize(
    ("resource", "code", "text"),
    [
        (altered("", (SESSION, SET, "50000")), 42, "Default group resources are not allowed."),
        (altered("", kind=METRICS), 42, "Subscription name can't be empty"),
        (altered("g", (SESSION, APPEND, "1")), 40,
         f"Can't APPEND to key {SESSION} because its type is not LIST."),
        (altered("m", ("metrics", 3, "a"), kind=METRICS), 40,
         "Can't SUBTRACT to key metrics because its type is not LIST."),
        (altered("g", (SESSION, 7, "1")), -1, ""),
        (altered("g", ("x", SET, "1")), 40, "Unknown group config name: x"),
        (altered("m", ("x", SET, "1"), kind=METRICS), 42,
         "Unknown client metrics configuration: x"),
    ],
)  # fmt: skip
async def test_invalid_changes_are_rejected(
    resource: AlteredResource, code: int, text: str
) -> None:
    """With a controller's codes and texts; nothing of the resource is stored."""
    async with memory_log() as log:
        with pytest.raises(ApiError) as refusal:
            await alter(log, resource)

        assert refusal.value.code == code
        assert text in str(refusal.value)
        assert list(log.state.resource_configs) == []


async def test_policy_receives_changes() -> None:
    policy = Recorder(refused="other")
    async with memory_log() as log:
        await alter(log, altered("g", (SESSION, SET, "50000"), (HEARTBEAT, SET, "6000")))
        await alter(log, altered("g", (SESSION, DELETE, None), (HEARTBEAT, SET, "6000")), policy)
        with pytest.raises(PolicyViolation):
            await alter(log, altered("other", ("metrics", SET, "*"), kind=METRICS), policy)

        assert log.state.resource_configs.names("client-metrics") == []

    group, metrics = ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS
    assert policy.asked == [
        ConfigAlteration(group, "g", {SESSION: None}),
        ConfigAlteration(metrics, "other", {"metrics": "*"}),
    ]
