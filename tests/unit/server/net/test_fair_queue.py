"""The fair queue of connections that have not authenticated."""

from __future__ import annotations

import asyncio

import pytest

from doorkeeper.server.net import ListenerSpec
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from testkit.edge import LOGIN, Clock, answer, authenticate, edge, handshake, plain, until, versions

SASL = ListenerSpec(
    name="SASL", security_protocol="SASL_PLAINTEXT", host="127.0.0.1", port=0, security=LOGIN
)

OPEN = ListenerSpec(name="OPEN", security_protocol="PLAINTEXT", host="127.0.0.1", port=0)


class HandLoop:
    """Calls what it is told to, when the test says so; keeps when."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[tuple[float, object]] = []

    def call_soon(self, call: object) -> object:
        self.calls.append((0.0, call))
        return call

    def call_later(self, delay_s: float, call: object) -> object:
        self.calls.append((delay_s, call))
        return call

    def turn(self) -> float:
        """Let the only call happen; return after how long."""
        ((delay_s, call),) = self.calls
        self.calls.clear()
        self.clock.now_s += delay_s
        assert callable(call)
        call()
        return delay_s


class World:
    """A queue whose work takes as long as the test says."""

    def __init__(self, share: float = 0.1) -> None:
        self.clock = Clock()
        self.loop = HandLoop(self.clock)
        self.lost_s = 0.0
        self.queue = FairQueue(
            self.loop,  # type: ignore[arg-type]
            share,
            self.clock,
            lambda: self.clock() - self.lost_s,
        )
        self.done: list[str] = []

    def work(self, host: str, name: str, cost_s: float = 0.0) -> object:
        """Let something wait."""

        def do() -> None:
            self.clock.now_s += cost_s
            self.done.append(name)

        return self.queue.put(host, do)


def test_one_task_per_loop_iteration() -> None:
    world = World()
    for name in "abc":
        world.work("1.1.1.1", name)
    seen = [list(world.done)]

    while world.queue.waiting:
        world.loop.turn()
        seen.append(list(world.done))

    assert seen == [[], ["a"], ["a", "b"], ["a", "b", "c"]]
    assert world.loop.calls == []


def test_addresses_take_turns() -> None:
    """Who sends one thing is next, however many things another address has sent."""
    world = World()
    for name in "abc":
        world.work("1.1.1.1", name)
    world.work("2.2.2.2", "one")

    while world.queue.waiting:
        world.loop.turn()

    assert world.done == ["a", "one", "b", "c"]


def test_cancelled_task_is_skipped() -> None:
    world = World()
    gone = world.work("1.1.1.1", "gone")
    world.work("1.1.1.1", "stays")
    gone.cancel()  # type: ignore[attr-defined]

    world.loop.turn()

    assert world.done == ["stays"]
    world.work("1.1.1.1", "gone too").cancel()  # type: ignore[attr-defined]
    world.loop.turn()
    assert (world.done, world.queue.waiting, world.loop.calls) == (["stays"], False, [])


def test_failing_task_does_not_affect_others() -> None:
    world = World()

    def failing() -> None:
        raise RuntimeError("a defect")

    world.queue.put("1.1.1.1", failing)
    world.work("1.1.1.1", "next")

    with pytest.raises(RuntimeError, match="a defect"):
        world.loop.turn()
    world.loop.turn()

    assert world.done == ["next"]


def test_unauthenticated_clients_have_a_limited_share() -> None:
    world = World(share=0.1)
    work_s = 0.0002
    began_s = world.clock.now_s
    for number in range(200):
        world.work("1.1.1.1", str(number), work_s)
        world.queue.clients_active = True
        world.loop.turn()

    taken_s = world.clock.now_s - began_s
    assert taken_s == pytest.approx(200 * work_s / 0.1, rel=0.02)


async def test_valid_login_during_a_flood() -> None:
    async with edge(SASL, OPEN) as running:
        stop = False

        async def wrong() -> None:
            while not stop:
                client = await running.client("SASL")
                await client.send(handshake() + authenticate(plain("alice", "wrong")))
                await client.ended()

        at_work = await running.client("OPEN")

        async def ask() -> None:
            while not stop:
                await at_work.call(versions(), ApiVersionsResponse, 3)

        flood = [asyncio.create_task(ask())] + [asyncio.create_task(wrong()) for _ in range(10)]
        await until(lambda: running.server.counts.failed_authentications > 20)

        refused_before = running.server.counts.failed_authentications
        client = await running.client("SASL")
        await client.send(handshake() + authenticate(plain()))
        await client.frame()
        answered = answer(await client.frame(), SaslAuthenticateResponse, 2)[1]
        refused = running.server.counts.failed_authentications - refused_before

        stop = True
        await asyncio.gather(*flood)
        assert answered.error_code == 0
        assert refused <= 3 * len(flood)


def test_preempted_turn_costs_its_cpu_time() -> None:
    world = World(share=0.1)
    world.queue.clients_active = True

    def preempted() -> None:
        world.clock.now_s += 1.001
        world.lost_s += 1.0

    world.queue.put("a", preempted)
    world.work("a", "next")
    world.loop.turn()
    world.queue.clients_active = True

    assert world.loop.turn() < 0.02
    assert world.done == ["next"]
