"""Chunks of encoded rows, that follow the ACLs."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import ResourceType
from doorkeeper.descriptions.chunks import CHUNK, Chunk, changed_names, names_in, update_chunks
from doorkeeper.descriptions.row_encoder import RowEncoder
from doorkeeper.runtime.slices import run_to_end
from testkit.acl import LITERAL, PREFIXED, READ, WRITE, allow, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.descriptions.chunks import State

ENCODER = RowEncoder(3)


def state_of(snapshot: Snapshot) -> State:
    """Return the groups of topics: of literals, and of prefixes."""
    patterns = snapshot.types[ResourceType.TOPIC].patterns
    return patterns.literals, patterns.prefixes


def made(state: State) -> list[Chunk]:
    """Return chunks that were made of nothing."""
    return run_to_end(update_chunks((), run_to_end(names_in(state)), state, ENCODER))


def many(count: int, user: str = "alice", start: int = 0) -> list[AclBinding]:
    return [allow(user, READ, topic(f"t-{start + number:06}")) for number in range(count)]


def stored(bindings: Sequence[AclBinding]) -> list[tuple[str, AclBinding]]:
    return [(str(number), each) for number, each in enumerate(bindings)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("told", [True, False])
def test_chunks_follow_any_changes(
    monkeypatch: pytest.MonkeyPatch, seed: int, *, told: bool
) -> None:
    """They are those of a state that was made at once, told what has changed or not; none is long.

    Neighbours are more than one chunk together, so that they never become many and small.
    """
    monkeypatch.setattr("doorkeeper.descriptions.chunks.CHUNK", 4)
    monkeypatch.setattr("doorkeeper.descriptions.chunks.SLICE_ITEMS", 3)
    monkeypatch.setattr("doorkeeper.runtime.slices.SLICE_ITEMS", 3)
    chance = random.Random(seed)
    world = [
        allow(user, operation, topic(f"{number:02}", kind))
        for number in range(50)
        for kind in (LITERAL, PREFIXED)
        for user in ("alice", "bob")
        for operation in (READ, WRITE)
    ]
    snapshot = load(stored(chance.sample(world, chance.choice((0, 5, 200)))))
    state, chunks = state_of(snapshot), made(state_of(snapshot))
    for step in range(40):
        some = chance.sample(world, chance.choice((1, 1, 2, 5, 60)))
        if chance.random() < 0.5:
            after = snapshot.with_added([(f"{step}-{at}", one) for at, one in enumerate(some)])
        else:
            after = snapshot.without(some)
        before, state = state, state_of(after)
        # Those that may have changed: here and there some that have not, or never were.
        names = sorted({each.pattern.name for each in some} | {"17", "none"})
        if not told:
            names = run_to_end(changed_names(before, chunks, state))
            assert set(names) <= {each.pattern.name for each in some}
        chunks = run_to_end(update_chunks(chunks, names, state, ENCODER))
        snapshot = after

        assert joined(chunks) == joined(made(state))
        sizes = [len(chunk.names) for chunk in chunks]
        assert all(0 < size < 8 for size in sizes)
        assert all(one + other > 4 for one, other in pairwise(sizes))


def joined(chunks: Sequence[Chunk]) -> tuple[list[str], list[tuple[object, ...]], list[bytes]]:
    """Return the names of all chunks, the groups of each, and the rows of each."""
    names: list[str] = []
    groups: list[tuple[object, ...]] = []
    rows: list[bytes] = []
    for chunk in chunks:
        names += chunk.names
        groups += zip(*chunk.groups, strict=True)
        places = zip([0, *chunk.ends[:-1]], chunk.ends, strict=True)
        rows += [chunk.rows[begin:end] for begin, end in places]
        assert len(chunk.rows) == chunk.ends[-1]
    return names, groups, rows


def test_what_has_not_changed_is_the_same_object() -> None:
    """Of many chunks only the one with the change is another."""
    bindings = many(10 * CHUNK)
    snapshot = load(stored(bindings))
    chunks = made(state_of(snapshot))
    after = state_of(snapshot.without(bindings[:1]))

    follow = run_to_end(update_chunks(chunks, ["t-000000"], after, ENCODER))

    assert len(follow) == len(chunks) == 10
    assert [new is old for new, old in zip(follow, chunks, strict=True)] == [False] + [True] * 9
