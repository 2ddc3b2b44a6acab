"""What a synchronization does not do, and how it says so."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.live_changes import LiveCluster, RemovalLimits, Rule
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation
from doorkeeper.acls.plan import EVERYTHING, Selector, SelectorUnion
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.operations.audit.cluster_changes import EventKind
from testkit.acl import READ, allow, cluster, deny, topic
from testkit.lagging_cluster import Lagging, kept
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding
    from testkit.lagging_cluster import Kept

ALICE, BOB = (allow(name, READ, topic("p-a")) for name in ("alice", "bob"))
MANY = [allow(f"user-{each}", READ, topic(f"p-{each}")) for each in range(20)]
NETWORK = deny("mallory", READ, topic("p-a"), "10.0.0.0/8")
OPS = allow("ops", AclOperation.ALTER, cluster(CLUSTER_NAME))
SCOPE = SelectorUnion((EVERYTHING,))


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(scaled(20)):
        while not holds():
            await asyncio.sleep(0.002)


def rules(found: Kept) -> dict[str, int]:
    return {each.rule.value: len(each.bindings) for each in found.task.holds}


def held_events(found: Kept) -> list[str]:
    events = [each for each in found.events if each.kind is EventKind.HELD]
    assert all(each.is_warning for each in events)
    return [each.detail for each in events]


@pytest.mark.parametrize(
    ("live", "present", "desired", "held", "word"),
    [
        (LiveCluster(), [ALICE, *MANY], [ALICE], {"size": 20}, "the limit is 10"),
        (LiveCluster(matches_networks=False), [], [NETWORK], {"networks": 1}, "as strings"),
        (LiveCluster(open_by_default=True), MANY[:1], [], {"open": 1}, "opens them"),
        (LiveCluster(logins=("User:ops",)), [OPS], [], {"lock-out": 1}, "would lose ALTER"),
        (LiveCluster(logins=None), [OPS], [], {"lock-out": 1}, "is unknown"),
    ],
)
async def test_held_changes_are_not_in_force(
    live: LiveCluster,
    present: list[AclBinding],
    desired: list[AclBinding],
    held: dict[str, int],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote = Lagging(Random(1), present)
    remote.live = live
    limits = RemovalLimits(10, 1.0)
    async with kept(
        remote, monkeypatch, 0.01, acls=[BOB, *desired], scope=SCOPE, limits=limits
    ) as found:
        await until(lambda: BOB in remote.newest and found.task.receipts.pending)
        await until(lambda: rules(found))
        assert rules(found) == held
        assert set(remote.newest) - {BOB} == set(present)
        assert found.task.receipts.state is None
        (detail,) = held_events(found)
        assert word in detail
    accepted = frozenset(map(Rule, held))
    async with kept(
        *(remote, monkeypatch, 0.01),
        acls=[BOB, *desired],
        scope=SCOPE,
        limits=limits,
        accepted=accepted,
    ) as found:
        await until(lambda: remote.newest == {BOB, *desired})
        await until(lambda: found.task.receipts.state or found.task.receipts.pending)
        assert not found.task.holds


async def test_ignored_network_is_not_in_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remote = Lagging(Random(1), [NETWORK])
    remote.live = LiveCluster(matches_networks=False)
    async with kept(remote, monkeypatch, 0.01, acls=[NETWORK], scope=SCOPE) as found:
        await until(lambda: found.task.receipts.pending)
        assert "as text (Kafka before 4.4)" in found.task.receipts.pending[1]
        assert found.task.receipts.state is None
        found.change(removed=[NETWORK])
        await until(lambda: found.task.receipts.state)
        assert remote.newest == set()


async def test_controllers_without_authorizer_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Lagging(Random(1))
    attempts: list[AclBinding] = []

    def refuse(binding: AclBinding) -> ErrorCode:
        attempts.append(binding)
        return ErrorCode.SECURITY_DISABLED

    remote.refuses = refuse
    async with kept(remote, monkeypatch, 0.002, acls=[ALICE, BOB], scope=SCOPE) as found:
        await until(lambda: rules(found))
        await until(lambda: found.task.remote.reads > 300)
        assert rules(found) == {"refused": 2}
        (detail,) = held_events(found)
        assert "the controllers have no authorizer (authorizer.class.name" in detail
        assert not any(each.kind is EventKind.CHANGED for each in found.events)
        assert not found.task.enforcement.conflict
        assert len(attempts) <= 2 * 12
        remote.refuses = lambda _: None
        found.change([MANY[0]])
        await until(lambda: MANY[0] in remote.newest)


async def test_risky_change_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ACL of a resource goes, and the cluster does not tell its default."""
    remote = Lagging(Random(1), [ALICE])
    remote.live = LiveCluster(open_by_default=None)
    async with kept(remote, monkeypatch, 0.01, scope=SCOPE) as found:
        await until(lambda: not remote.newest)
        await until(lambda: [each for each in found.events if each.kind is EventKind.CHANGED])
        (event,) = [each for each in found.events if each.kind is EventKind.CHANGED]
        assert event.is_warning
        assert "the last ACL of TOPIC 'p-a' would be removed" in event.detail


async def test_acls_outside_the_scope_are_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another owner's ACL keeps a resource closed, and the share is that of the scope."""
    remote = Lagging(Random(1), [ALICE, BOB])
    remote.live = LiveCluster(open_by_default=True)
    scope = SelectorUnion((Selector(principals=frozenset({"User:alice"})),))
    async with kept(remote, monkeypatch, 0.01, scope=scope):
        await until(lambda: remote.newest == {BOB})
