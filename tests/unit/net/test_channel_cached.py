"""Answers from memory leave a connection's socket as others do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.connection.response_cache import ResponseCache
from doorkeeper.limits import Limits
from doorkeeper.metrics import table
from doorkeeper.metrics.requests import RequestMeter
from doorkeeper.metrics.series import Meters
from testkit.channels import Transport, World
from testkit.edge import HandAuthorizer, create, describe, until

if TYPE_CHECKING:
    from collections.abc import Sequence


class Remembering(World):
    """Channels that remember answers; nothing ever changes what is true."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.meters = Meters()
        self.change: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
        super().__init__(
            limits, authorizer=HandAuthorizer(self._create), requests=RequestMeter(self.meters)
        )
        self.cache = ResponseCache(lambda: (0,), None, Limits())

    def _create(self, bindings: Sequence[object]) -> Any:
        return [self.change for _ in bindings]

    def requests(self) -> dict[tuple[str, ...], Any]:
        """Return the number of requests by API and error."""
        return {each.metric: dict(each.values) for each in self.meters.families()}[table.REQUESTS]


def ids(transport: Transport) -> list[int]:
    """Return the correlation ids of what was answered, in order."""
    return [int.from_bytes(frame[:4]) for frame in transport.answers()]


async def test_an_answer_from_memory_keeps_its_place() -> None:
    """Wherever the bytes are cut, and behind a change whose answer is not there yet."""
    world = Remembering()
    channel, transport = world.connect()
    channel.data_received(describe("a", 1))

    channel.data_received(describe("a", 2)[:5])
    channel.data_received(describe("a", 2)[5:] + describe("a", 3))
    channel.data_received(create(["x"], 4))
    channel.data_received(describe("a", 5))
    assert ids(transport) == [1, 2, 3]
    world.change.set_result(AclCreateResult())
    await until(lambda: len(ids(transport)) == 5)

    assert ids(transport) == [1, 2, 3, 4, 5]


async def test_whoever_does_not_take_an_answer_from_memory_is_not_read_from() -> None:
    """The next one waits until it has left."""
    world = Remembering()
    channel, transport = world.connect()
    channel.data_received(describe("a", 1))
    transport.stuck = True

    channel.data_received(describe("a", 2))
    assert not transport.is_reading()
    assert world.context.outgoing.total == len(transport.writes[-1])
    channel.data_received(describe("a", 3))
    assert ids(transport) == [1, 2]
    transport.stuck = False
    channel.resume_writing()

    assert ids(transport) == [1, 2, 3]
    assert transport.is_reading()
