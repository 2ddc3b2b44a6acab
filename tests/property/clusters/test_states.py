"""The states of the synchronization of a cluster, over random sequences of states."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.sync import synchronization
from doorkeeper.sync.states import TRANSITIONS, Role, State, check
from pages import cluster_states
from testkit.acl import READ, allow, topic
from testkit.lagging_cluster import STORE_ID, Lagging, kept
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

ALWAYS = (State.FAILED, State.CLOSED)
OBSERVING = (Role.OBSERVER, Role.STRANGER)
STEPS = 200
BINDINGS = [allow(f"user-{number}", READ, topic(f"p-{number}")) for number in range(8)]


def reached(role: Role, state: State, *, fails: bool = True) -> AbstractSet[State]:
    """Return the states that some transitions lead to."""
    states, waiting = set[State](), [state]
    while waiting:
        state = waiting.pop()
        after = [*TRANSITIONS[role][state], *(ALWAYS if fails and state != State.CLOSED else ())]
        new = set(after) - states
        states |= new
        waiting += new
    return states


@pytest.mark.parametrize("role", Role)
def test_every_state_has_an_exit(role: Role) -> None:
    states = set(TRANSITIONS[role])

    assert reached(role, State.CLAIMING) == states
    for state in states - {State.CLOSED}:
        assert State.RESTING in reached(role, state, fails=False)
        assert State.CLOSED in reached(role, state)
    assert TRANSITIONS[role][State.CLOSED] == {}


@given(st.sampled_from(Role), st.lists(st.integers(0, 99), max_size=60))
def test_only_an_owner_sends_permitted_changes(role: Role, choices: list[int]) -> None:
    state = State.CLAIMING
    for choice in choices:
        permitted = [*TRANSITIONS[role][state], *ALWAYS]
        before, state = state, permitted[choice % len(permitted)]
        check(role, before, state)
        if state is State.SENDING:
            assert (role, before) == (Role.OWNER, State.JUDGING)
        if state is State.CLOSED:
            return


@pytest.mark.parametrize("role", OBSERVING)
def test_an_observer_cannot_send(role: Role) -> None:
    """Its table has no such state, and no such result of a judgement."""
    assert State.SENDING not in TRANSITIONS[role]
    with pytest.raises(RuntimeError, match="JUDGING to SENDING is not permitted"):
        check(role, State.JUDGING, State.SENDING)


def test_page_has_each_transition() -> None:
    rows = [line.strip("| ").split(" | ") for line in cluster_states.text().splitlines()]
    heads, cells = rows[0], {row[0]: row for row in rows if len(row) == len(rows[0])}

    for role, table in TRANSITIONS.items():
        for state, moves in table.items():
            expected = "<br>".join(f"{when} → {after.name}" for after, when in moves.items())
            assert cells[state.name][heads.index(role.name)] == (expected or "-")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("role", Role)
async def test_synchronization_follows_the_table(
    role: Role, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(seed)
    remote = Lagging(chance, BINDINGS[:4])
    remote.fails = lambda: chance.random() < 0.4
    visited = set(TRANSITIONS[role]) - {State.LOOKING_UP, State.CLOSED}
    steps: list[tuple[State, State]] = []

    def note(role: Role, before: State, after: State) -> None:
        check(role, before, after)
        steps.append((before, after))

    monkeypatch.setattr(synchronization, "check", note)
    async with kept(
        remote,
        monkeypatch,
        0.01,
        mode="observe" if role is Role.OBSERVER else "enforce",
        store_id="t" * 22 if role is Role.STRANGER else STORE_ID,
    ) as found:
        desired: set[object] = set()
        async with asyncio.timeout(scaled(20)):
            while not visited <= {state for state, _ in steps} or len(steps) < STEPS:
                binding = chance.choice(BINDINGS)
                found.is_claimed = chance.random() < 0.8
                change = ([], [binding]) if binding in desired else ([binding], [])
                found.change(*change)
                desired ^= {binding}
                await asyncio.sleep(chance.choice((0, 0.002, 0.01)))
        assert found.task.role is role
    assert all(one[-1] is other[0] for one, other in pairwise(steps))
    assert steps[-1][-1] is State.CLOSED
    assert bool(remote.sent) == (role is Role.OWNER)
    assert not any("a fault of this server" in event.detail for event in found.events)
