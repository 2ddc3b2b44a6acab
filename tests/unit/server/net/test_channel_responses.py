"""Responses that are repeated, or built in chunks in turns of the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.meters import RequestMeter
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


async def test_cached_response_keeps_its_order() -> None:
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


async def test_unread_cached_response_stops_reading() -> None:
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


async def test_rest_of_a_frame_is_not_a_repeated_request() -> None:
    """A body that is, byte for byte, a request with its size: the size of the body came before."""
    known = versions()
    channel, transport = World().connect()

    channel.data_received(known)
    channel.data_received(len(known).to_bytes(4))
    channel.data_received(known)

    assert len(transport.answers()) == 1
    assert transport.closing


TOPICS = 400
TURNS = 10
"""Fewer than the pieces in which an answer about so many topics is made."""


@pytest.fixture
async def slow(monkeypatch: pytest.MonkeyPatch) -> World:
    """Channels where each piece of a long answer takes a turn of the loop of its own."""
    monkeypatch.setattr("doorkeeper.base.slices.SLICE_S", 0.0)
    return World(requests=RequestMeter(Meters()))


def answers(transport: Transport) -> list[tuple[int, int, str]]:
    """Return of each answer the correlation id, how many rows it has, and its text."""
    found = [answer(frame, DescribeAclsResponse, 3) for frame in transport.answers()]
    return [(number, len(each.resources), each.error_message) for number, each in found]


async def test_other_requests_are_served_between_chunks(slow: World) -> None:
    (large, large_pipe), (small, small_pipe) = slow.connect(), slow.connect()
    large.data_received(describe(f"pieces:{TOPICS}", 7))

    for number in range(TURNS):
        await asyncio.sleep(0)
        small.data_received(describe("small", number))

    assert len(answers(small_pipe)) == TURNS
    assert large_pipe.writes == []
    await until(lambda: large_pipe.writes != [])
    assert answers(large_pipe) == [(7, TOPICS, "")]


async def test_long_responses_keep_their_order(slow: World) -> None:
    channel, pipe = slow.connect()

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


async def test_long_responses_are_built_in_sequence(slow: World) -> None:
    (gone, gone_pipe), (next_one, next_pipe) = slow.connect(), slow.connect()
    (last, last_pipe) = slow.connect()
    for channel in (gone, next_one, last):
        channel.data_received(describe(f"pieces:{TOPICS}"))
    for _ in range(TURNS):
        await asyncio.sleep(0)

    gone.connection_lost(None)
    await until(lambda: next_pipe.writes != [])
    assert last_pipe.writes == []
    await until(lambda: last_pipe.writes != [])

    assert gone_pipe.writes == []


@pytest.mark.parametrize("error", [Unencodable("name", "too long"), RuntimeError("fails")])
async def test_unencodable_response_is_an_error(
    slow: World, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, pipe = slow.connect()

    def fails(*_: object) -> Slices[bytes]:
        yield
        raise error

    with monkeypatch.context() as broken:
        broken.setattr("doorkeeper.server.api.acl_row_encoder.RowEncoder.row", fails)
        channel.data_received(describe(f"pieces:{TOPICS}"))
        await until(lambda: len(pipe.answers()) == 1)
    channel.data_received(describe(f"pieces:{TOPICS}", 2))
    await until(lambda: len(pipe.answers()) == 2)

    number, response = answer(pipe.answers()[0], DescribeAclsResponse, 3)
    assert (number, response.error_code) == (1, -1)
    assert answers(pipe)[1] == (2, TOPICS, "")
