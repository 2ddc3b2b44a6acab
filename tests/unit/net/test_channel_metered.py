"""What a connection's socket tells of its requests, by a clock that the test moves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.api.node import ACL_UPDATE
from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.limits import Limits
from doorkeeper.metrics import table
from doorkeeper.metrics.requests import RequestMeter
from doorkeeper.metrics.series import Meters
from testkit.channels import PendingAuthorizer, World
from testkit.edge import (
    create,
    describe,
    until,
)

if TYPE_CHECKING:
    from doorkeeper.net.channel import Channel

OK = AclCreateResult()


class Metered(World):
    """Channels with one meter, and an authorizer that takes a quarter of a second."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.meters = Meters()
        self.authorizer = PendingAuthorizer(self._take_time)
        super().__init__(limits, self.authorizer, requests=RequestMeter(self.meters))

    def _take_time(self) -> None:
        self.clock.now_s += 0.25

    def channel(self) -> Channel:
        """Return a channel that is connected."""
        return self.connect()[0]

    def values(self, metric: table.Metric) -> dict[tuple[str, ...], Any]:
        return {each.metric: dict(each.values) for each in self.meters.families()}[metric]

    def requests(self) -> dict[tuple[str, ...], float]:
        return self.values(table.REQUESTS)


async def test_a_wait_divides_the_time_of_an_update() -> None:
    """Local until the wait begins, remote until the last item is complete; total is both."""
    world = Metered()
    channel = world.channel()
    futures = world.authorizer.futures
    timed = (table.LOCAL_SECONDS, table.REMOTE_SECONDS, table.REQUEST_SECONDS)

    channel.data_received(create(["x", "y"]))
    await until(lambda: bool(futures))
    world.clock.now_s += 1
    futures[1].set_result(OK)
    await asyncio.sleep(0)
    world.clock.now_s += 2
    futures[0].set_result(AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST)))
    await until(lambda: bool(world.requests()))

    assert world.requests() == {("CreateAcls", "INVALID_REQUEST"): 1}
    times = [world.meters.histogram(each, "CreateAcls").sum for each in timed]
    assert times == [0.25, 3.0, 3.25]


async def test_refused_and_timed_out_updates_are_counted() -> None:
    """What has no room at all, and items that were not complete in time."""
    world = Metered(Limits(updates_waiting_max=2, update_timeout_ms=1))
    first, second = world.channel(), world.channel()

    first.data_received(create(["a", "b", "c"]))
    assert world.context.updates.items[ACL_UPDATE] == 3
    second.data_received(create(["d"]))
    await until(lambda: bool(world.authorizer.futures))
    world.authorizer.futures[1].set_result(OK)
    await until(lambda: not world.context.updates)

    assert world.meters.counter(table.UPDATES_REFUSED).value == 1
    assert world.values(table.ITEMS_TIMED_OUT) == {(ACL_UPDATE,): 2}
    assert world.requests() == {
        ("CreateAcls", "THROTTLING_QUOTA_EXCEEDED"): 1,
        ("CreateAcls", "REQUEST_TIMED_OUT"): 1,
    }


async def test_without_a_meter_nothing_is_counted_and_the_clock_not_asked() -> None:
    """Where nobody asks for metrics, requests cost what they did."""
    world, asked = Metered(), [0]

    def clock() -> float:
        asked[0] += 1
        return 1.0

    world.context = world.context._replace(requests=None, clock=clock)
    channel = world.channel()
    asked[0] = 0

    channel.data_received(b"".join(describe(str(number)) for number in range(10)))

    assert asked[0] == 1
    assert world.requests() == {}
    assert channel.connection.answer_codes is None
