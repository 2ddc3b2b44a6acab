"""What a connection's socket tells of its requests, by a clock that the test moves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from doorkeeper.api.node import ACL_UPDATE
from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.limits import Limits
from doorkeeper.metrics import table
from doorkeeper.metrics.requests import RequestMeter
from doorkeeper.metrics.series import Meters
from doorkeeper.net.options import UNAUTHENTICATED, ConnectionSecurity
from testkit.channels import World
from testkit.edge import (
    HandAuthorizer,
    create,
    describe,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.net.channel import Channel

OK = AclCreateResult()


class Metered(World):
    """Channels with one meter; ``futures`` are what the authorizer has given."""

    def __init__(
        self, limits: Limits | None = None, offers: ConnectionSecurity = UNAUTHENTICATED
    ) -> None:
        self.meters = Meters()
        self.futures: list[asyncio.Future[AclCreateResult]] = []
        self.created = self.later
        super().__init__(
            limits, HandAuthorizer(self._create), offers, requests=RequestMeter(self.meters)
        )

    def _create(self, bindings: Sequence[AclBinding]) -> Any:
        return self.created(bindings)

    def later(self, bindings: Sequence[AclBinding]) -> Sequence[asyncio.Future[AclCreateResult]]:
        new: list[asyncio.Future[AclCreateResult]] = [
            asyncio.get_running_loop().create_future() for _ in bindings
        ]
        self.futures += new
        return new

    def channel(self) -> Channel:
        """Return a channel that is connected."""
        return self.connect()[0]

    def requests(self) -> dict[tuple[str, ...], float]:
        return cast("dict[tuple[str, ...], float]", self.values(table.REQUESTS))

    def values(self, metric: table.Metric) -> dict[tuple[str, ...], Any]:
        return {each.metric: dict(each.values) for each in self.meters.families()}[metric]

    def times(self, api: str) -> tuple[float, float, float]:
        """Return the sums of local, remote and total time."""
        return (
            self.meters.histogram(table.LOCAL_SECONDS, api).sum,
            self.meters.histogram(table.REMOTE_SECONDS, api).sum,
            self.meters.histogram(table.REQUEST_SECONDS, api).sum,
        )


async def test_a_wait_divides_the_time_of_an_update() -> None:
    """Local until the wait begins, remote until the last item is complete; total is both."""
    world = Metered()
    channel = world.channel()

    def created(bindings: Sequence[AclBinding]) -> Any:
        world.clock.now_s += 0.25  # the authorizer works on the loop
        return world.later(bindings)

    world.created = created
    channel.data_received(create(["x", "y"]))
    await until(lambda: bool(world.futures))
    world.clock.now_s += 1
    world.futures[1].set_result(OK)
    await asyncio.sleep(0)
    world.clock.now_s += 2
    world.futures[0].set_result(AclCreateResult(ApiError(ErrorCode.INVALID_REQUEST)))
    await until(lambda: bool(world.requests()))

    assert world.requests() == {("CreateAcls", "INVALID_REQUEST"): 1}
    assert world.times("CreateAcls") == (0.25, 3.0, 3.25)


async def test_refused_and_timed_out_updates_are_counted() -> None:
    """What has no room at all, and items that were not complete in time."""
    world = Metered(Limits(updates_waiting_max=2, update_timeout_ms=1))
    first, second = world.channel(), world.channel()

    first.data_received(create(["a", "b", "c"]))
    assert world.context.updates.items[ACL_UPDATE] == 3
    second.data_received(create(["d"]))
    await until(lambda: bool(world.futures))
    world.futures[1].set_result(OK)
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
