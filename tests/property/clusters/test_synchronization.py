"""The synchronization of a cluster, judged after each single change of the cluster.

A simulated cluster refuses some changes, loses answers, and its brokers lag; the server restarts,
also with another store; ACLs change meanwhile.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.live_changes import LiveCluster, Rule
from doorkeeper.acls.model import PatternType, ResourceType
from doorkeeper.acls.networks import address_of, network_of
from doorkeeper.acls.plan import EVERYTHING, SelectorUnion
from doorkeeper.base.errors import ErrorCode
from testkit import reference
from testkit.acl import READ, allow, deny, topic
from testkit.lagging_cluster import BROKERS, STORE_ID, Lagging, kept
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AclBinding

SEQUENCES = 12
CHANGES = 6
SCOPE = SelectorUnion((EVERYTHING,))

BINDINGS = [
    make(principal, READ, pattern, host)
    for make in (allow, deny)
    for principal in ("*", "alice", "mallory")
    for pattern in (
        topic("p-a"),
        topic("p-", PatternType.PREFIXED),
        topic("*"),
    )
    for host in ("*", "10.0.0.0/8")
]
QUESTIONS = [
    Question(f"User:{principal}", host, READ, ResourceType.TOPIC, name)
    for principal in ("alice", "mallory")
    for host in ("10.0.0.1", "192.0.2.1")
    for name in ("p-a", "p-b", "z")
]


def allowed(acls: Iterable[AclBinding], live: LiveCluster) -> set[Question]:
    """Return the questions that the brokers of a cluster allow."""
    policy = Policy(allow_everyone=bool(live.open_by_default))
    found = list(acls)
    return {
        question
        for question in QUESTIONS
        if reference.decide(
            policy, [_seen(each, question, live) for each in found], question
        ).allowed
    }


def _seen(binding: AclBinding, question: Question, live: LiveCluster) -> AclBinding:
    """Return a binding with the host of the question where its network has it."""
    network = network_of(binding.entry.host) if live.matches_networks else None
    address = address_of(question.host)
    if network is None or address is None or not network.contains(address):
        return binding
    return binding._replace(entry=binding.entry._replace(host=question.host))


class Judge:
    """Compares what a cluster allows after each change with the states that were desired."""

    def __init__(self, remote: Lagging) -> None:
        self._remote = remote
        self._limit: set[Question] = set()
        self.changes = 0
        self.faults: list[str] = []
        remote.on_change = self._check

    def expect(self, goal: Iterable[AclBinding]) -> None:
        """Allow what the cluster allows now, and what it is to allow."""
        goal_live = replace(self._remote.live, matches_networks=True)
        now = allowed(self._remote.newest, self._remote.live)
        self._limit = now | allowed(goal, goal_live)

    def widen(self, goal: Iterable[AclBinding]) -> None:
        """Allow what another state allows too, whose changes may be on their way."""
        self._limit |= allowed(goal, replace(self._remote.live, matches_networks=True))

    def _check(self) -> None:
        self.changes += 1
        more = allowed(self._remote.newest, self._remote.live) - self._limit
        if more:
            self.faults.append(f"neither before nor after: {more}, {sorted(self._remote.newest)}")


@pytest.mark.parametrize("seed", range(SEQUENCES))
async def test_no_intermediate_state_is_wider_than_both_ends(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(seed)
    live = LiveCluster(
        matches_networks=chance.random() < 0.5, open_by_default=chance.random() < 0.5
    )
    remote = Lagging(chance)
    remote.live = live
    judge = Judge(remote)
    is_faulty = True
    remote.refuses = lambda _: (
        ErrorCode.INVALID_REQUEST if is_faulty and chance.random() < 0.1 else None
    )
    remote.loses = lambda: is_faulty and chance.random() < 0.1
    accepted = frozenset({Rule.SIZE, *chance.choice(((), (Rule.OPEN,)))})
    desired: set[AclBinding] = set()
    for number in range(CHANGES):
        # A server that ends here, and one that starts with this state. That takes longer than a
        # broker lags.
        remote.catch_up()
        async with kept(
            remote, monkeypatch, 0.01, acls=desired, scope=SCOPE, accepted=accepted
        ) as found:
            judge.expect(desired)
            for _ in range(chance.randint(1, 3)):
                goal = set(chance.sample(BINDINGS, chance.randint(0, 6)))
                judge.widen(goal)
                found.change(goal - desired, desired - goal)
                desired = goal
                await asyncio.sleep(chance.choice((0, 0, 0.001, 0.03)))
            is_faulty = number % 2 == 0
        judge.faults += [
            each.detail for each in found.events if "a fault of this server" in each.detail
        ]
    assert judge.faults == []


async def test_desired_state_is_reached_without_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(7)
    remote = Lagging(chance)
    desired: set[AclBinding] = set()
    async with kept(remote, monkeypatch, 0.02, scope=SCOPE) as found:
        for _ in range(30):
            goal = set(chance.sample(BINDINGS, chance.randint(0, 12)))
            found.change(goal - desired, desired - goal)
            desired = goal
            async with asyncio.timeout(scaled(20)):
                await found.task.receipts.wait_for(found.state.revision, frozenset(goal | desired))
            assert [each for each in BROKERS if remote.present(each) != desired] == []


async def test_another_store_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one, and one that has other ACLs: both say so, and observe."""
    chance = Random(3)
    there = set(BINDINGS[:6])
    remote = Lagging(chance, there)
    for acls in ((), BINDINGS[3:9]):
        async with kept(
            remote, monkeypatch, 0.01, acls=acls, scope=SCOPE, store_id="t" * 22
        ) as found:
            async with asyncio.timeout(scaled(20)):
                while not found.task.differences.drift:
                    await asyncio.sleep(0.005)
            found.change(BINDINGS[10:12])
            await asyncio.sleep(0.05)
            assert [each.rule for each in found.task.holds] == [Rule.OWNER]
            assert STORE_ID in found.task.held
            assert found.events[0].kind.name == "HELD"
            assert found.events[0].is_warning
    assert remote.newest == there
