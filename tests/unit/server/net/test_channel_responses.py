"""Responses that are repeated, or built in chunks in turns of the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.slices import SLICE_S
from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net.chunked_responses import ChunkedResponses
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.requests import RequestMeter
from doorkeeper.server.runtime.metrics.series import Meters
from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.channels import PendingAuthorizer, Transport, World
from testkit.edge import answer, create, describe, until, versions

if TYPE_CHECKING:
    from doorkeeper.base.slices import Slices


def ids(transport: Transport) -> list[int]:
    """Return the correlation ids of what was answered, in order."""
    return [int.from_bytes(frame[:4]) for frame in transport.answers()]


async def test_an_answer_from_memory_keeps_its_place() -> None:
    """Wherever the bytes are cut, and behind a change whose answer is pending; it is counted."""
    authorizer, meters = PendingAuthorizer(), Meters()
    world = World(authorizer=authorizer, requests=RequestMeter(meters))
    channel, transport = world.connect()
    channel.data_received(versions(correlation_id=1))

    channel.data_received(versions(correlation_id=2))
    channel.data_received(versions(correlation_id=3)[:5])
    channel.data_received(versions(correlation_id=3)[5:] + versions(correlation_id=4))
    channel.data_received(create(["x"], 5))
    channel.data_received(versions(correlation_id=6))
    assert ids(transport) == [1, 2, 3, 4]
    await until(lambda: bool(authorizer.futures))
    authorizer.futures[0].set_result(AclCreateResult())
    await until(lambda: len(ids(transport)) == 6)

    assert ids(transport) == [1, 2, 3, 4, 5, 6]
    assert meters.counter(table.REQUESTS, "ApiVersions", "none").value == 5
    assert meters.counter(table.REQUESTS, "CreateAcls", "none").value == 1


async def test_whoever_does_not_take_an_answer_from_memory_is_not_read_from() -> None:
    """The next one waits until it has left."""
    world = World()
    channel, transport = world.connect()
    channel.data_received(versions(correlation_id=1))
    transport.stuck = True

    channel.data_received(versions(correlation_id=2))
    assert not transport.is_reading()
    assert world.context.outgoing.total == len(transport.writes[-1])
    channel.data_received(versions(correlation_id=3))
    assert ids(transport) == [1, 2]
    transport.stuck = False
    channel.resume_writing()

    assert ids(transport) == [1, 2, 3]
    assert transport.is_reading()


TOPICS = 400
TURNS = 10
"""Fewer than the pieces in which an answer about so many topics is made."""


class Slow(World):
    """Each piece of a long answer takes a turn of its own."""

    def __init__(self) -> None:
        self.meters = Meters()
        super().__init__(requests=RequestMeter(self.meters))
        made = ChunkedResponses(asyncio.get_running_loop(), self._a_turn_later)
        self.context = self.context._replace(chunked_responses=made)
        self._now_s = 0.0

    def _a_turn_later(self) -> float:
        self._now_s += 1
        return self._now_s


def answers(transport: Transport) -> list[tuple[int, int, str]]:
    """Return of each answer the correlation id, how many rows it has, and its text."""
    found = [answer(frame, DescribeAclsResponse, 3) for frame in transport.answers()]
    return [(number, len(each.resources), each.error_message) for number, each in found]


async def test_others_are_answered_between_the_pieces() -> None:
    """A small request waits for one piece of somebody's long answer, not for all of it."""
    world = Slow()
    (large, large_pipe), (small, small_pipe) = world.connect(), world.connect()
    large.data_received(describe(f"pieces:{TOPICS}", 7))

    for number in range(TURNS):
        await asyncio.sleep(0)
        small.data_received(describe("small", number))

    assert len(answers(small_pipe)) == TURNS
    assert large_pipe.writes == []
    await until(lambda: large_pipe.writes != [])
    assert answers(large_pipe) == [(7, TOPICS, "")]


async def test_answers_keep_their_order() -> None:
    """What stands before and behind a long one on its connection comes before and behind it."""
    channel, pipe = Slow().connect()

    channel.data_received(
        describe("before", 1)
        + describe(f"pieces:{TOPICS}", 2)
        + describe("between", 3)
        + describe(f"pieces:{TOPICS}", 4)
    )
    assert answers(pipe) == [(1, 0, "before")]
    assert not pipe.is_reading()
    channel.data_received(describe("behind", 5))
    await until(pipe.is_reading)

    assert answers(pipe) == [
        (1, 0, "before"),
        (2, TOPICS, ""),
        (3, 0, "between"),
        (4, TOPICS, ""),
        (5, 0, "behind"),
    ]


async def test_who_leaves_gets_nothing_and_holds_nothing() -> None:
    """What was made so far is let go of at once; the next one's is made."""
    world = Slow()
    (gone, gone_pipe), (stays, stays_pipe) = world.connect(), world.connect()
    gone.data_received(describe(f"pieces:{TOPICS}"))
    stays.data_received(describe(f"pieces:{TOPICS}"))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    making = gone._building
    assert making is not None
    pieces = making._chunks
    assert pieces is not None

    gone.connection_lost(None)

    with pytest.raises(StopIteration):
        next(pieces)
    await until(lambda: stays_pipe.writes != [])
    assert gone_pipe.writes == []


@pytest.mark.parametrize("error", [Unencodable("name", "too long"), RuntimeError("fails")])
async def test_what_cannot_be_made(error: Exception) -> None:
    """A response that does not fit, or fails, is answered with an error."""
    world = Slow()
    channel, pipe = world.connect()
    channel.data_received(describe(f"pieces:{TOPICS}"))
    making = channel._building
    assert making is not None
    assert making._on_built is not None

    making._on_built(error)

    assert not pipe.closing
    (frame,) = pipe.answers()
    number, response = answer(frame, DescribeAclsResponse, 3)
    assert (number, response.error_code) == (1, -1)


class Builder:
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


async def turns_until(world: Builder, count: int) -> int:
    """Return after how many turns of the loop so many answers are made."""
    turns = 0
    while len(world.made) < count:
        turns += 1
        await asyncio.sleep(0)
    return turns


async def test_one_that_is_cancelled_is_let_go() -> None:
    """At once, half-way and before it began; those behind it are made."""
    world = Builder(turns_each=1)
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
    world = Builder(turns_each=1)
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
    world = Builder(turns_each=1)
    world.make("fails", 1)
    world.make("behind", 1)

    await turns_until(world, 2)

    (_, error), behind = world.made
    assert isinstance(error, ValueError)
    assert behind == ("behind", bytearray(b"behind"))
