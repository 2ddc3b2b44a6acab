"""Chunked responses: a slice in each turn of the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.net.chunked_responses import ChunkedResponses
from doorkeeper.runtime.slices import SLICE_S

if TYPE_CHECKING:
    from doorkeeper.runtime.slices import Slices


class World:
    """Answers whose pieces take a given part of a turn each."""

    def __init__(self, turns_each: float) -> None:
        self._now_s = 0.0
        self._turns_each = turns_each
        self.answers = ChunkedResponses(asyncio.get_running_loop(), lambda: self._now_s)
        self.made: list[tuple[str, bytearray | Exception]] = []
        self.stepped: list[str] = []
        self.closed: list[str] = []

    def pieces(self, name: str, count: int) -> Slices[bytearray]:
        try:
            for _ in range(count):
                self._now_s += self._turns_each * SLICE_S
                self.stepped.append(name)
                yield
        except GeneratorExit:
            self.closed.append(name)
            raise
        if name == "fails":
            raise ValueError(name)
        return bytearray(name.encode())

    def make(self, name: str, count: int) -> None:
        self.answers.build(self.pieces(name, count), lambda made: self.made.append((name, made)))


async def turns_until(world: World, count: int) -> int:
    """Return after how many turns of the loop so many answers are made."""
    turns = 0
    while len(world.made) < count:
        turns += 1
        await asyncio.sleep(0)
    return turns


async def test_one_that_is_cancelled_is_let_go() -> None:
    """At once, half-way and before it began; those behind it are made."""
    world = World(turns_each=1)
    first = world.answers.build(world.pieces("first", 9), lambda _: pytest.fail("told"))
    second = world.answers.build(world.pieces("second", 9), lambda _: pytest.fail("told"))
    world.make("third", 1)
    await asyncio.sleep(0)

    first.cancel()
    second.cancel()
    first.cancel()
    assert world.closed == ["first"]
    await turns_until(world, 1)

    assert world.stepped == ["first", "third"]


async def test_what_is_left_over_of_a_cancelled_one_is_built() -> None:
    """In its turn, and nobody is told."""
    world = World(turns_each=1)
    first = world.answers.build(
        world.pieces("first", 9),
        lambda _: pytest.fail("told"),
        lambda: world.pieces("left over", 2),
    )
    world.make("second", 1)
    await asyncio.sleep(0)

    first.cancel()
    first.cancel()
    await turns_until(world, 1)

    assert world.closed == ["first"]
    assert world.stepped == ["first", "left over", "left over", "second"]


async def test_an_error_is_that_answers_own() -> None:
    """It is told, and others are made."""
    world = World(turns_each=1)
    world.make("fails", 1)
    world.make("behind", 1)

    await turns_until(world, 2)

    (_, error), behind = world.made
    assert isinstance(error, ValueError)
    assert behind == ("behind", bytearray(b"behind"))
