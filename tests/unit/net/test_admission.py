"""How many connections there may be."""

from __future__ import annotations

import asyncio

from doorkeeper.limits import Limits
from doorkeeper.net.admission import Admission
from doorkeeper.net.options import ListenerSpec

A = ListenerSpec(
    name="A", security_protocol="PLAINTEXT", host="localhost", port=0, max_connections=2
)
B = ListenerSpec(name="B", security_protocol="PLAINTEXT", host="localhost", port=0)


async def test_a_listener_has_room_up_to_its_limit() -> None:
    """A full listener has none; the other one still has; who leaves makes room."""
    admission = Admission(Limits())
    assert admission.enter(A, "h")
    assert admission.enter(A, "h")

    assert not admission.has_room(A)
    assert admission.has_room(B)
    admission.leave(A, "h")
    assert admission.has_room(A)
    assert (admission.total, admission.on_listener("A")) == (1, 1)
    assert admission.accepted == {"A": 2}


async def test_all_listeners_share_the_limit_of_the_server() -> None:
    """max.connections counts all listeners together."""
    admission = Admission(Limits(connections_max=1))
    assert admission.has_room(B)

    admission.enter(A, "h")

    assert not admission.has_room(B)


async def test_who_waits_for_room_gets_it() -> None:
    """Waiting ends when a connection ends."""
    admission = Admission(Limits(connections_max=1))
    admission.enter(A, "h")
    waiting = asyncio.ensure_future(admission.wait_for_room(B))
    await asyncio.sleep(0)
    assert not waiting.done()

    admission.leave(A, "h")

    await waiting


async def test_an_address_has_its_own_limit() -> None:
    """One address is held to its limit, others are not; an override counts before the rest."""
    admission = Admission(
        Limits(connections_per_ip_max=1, connections_per_ip_overrides={"b": 2, "c": 0})
    )

    entered = [admission.enter(A, host) for host in ("a", "a", "b", "b", "b", "c")]

    assert entered == [True, False, True, True, False, False]
    assert admission.total == 3


async def test_addresses_that_left_are_forgotten() -> None:
    """No address stays in memory without a connection."""
    admission = Admission(Limits(connections_per_ip_overrides={"c": 0}))
    admission.enter(A, "a")
    admission.enter(A, "c")

    admission.leave(A, "a")

    assert not admission._by_host


async def test_other_bounds_count_at_once() -> None:
    """Who waits for room is let in; who is in stays, also beyond a smaller bound."""
    admission = Admission(Limits(connections_max=1))
    spec = ListenerSpec(name="A", security_protocol="PLAINTEXT", host="localhost", port=0)
    assert admission.enter(spec, "10.0.0.1")
    waiting = asyncio.ensure_future(admission.wait_for_room(spec))
    await asyncio.sleep(0)
    assert not waiting.done()

    admission.use(Limits(connections_max=5), {"10.0.0.1": 1}, {"A": 2})
    await asyncio.wait_for(waiting, 5)
    assert not admission.enter(spec, "10.0.0.1")
    assert admission.enter(spec, "10.0.0.2")
    assert not admission.has_room(spec)

    admission.use(Limits(connections_max=1), {}, {})
    assert admission.total == 2
    assert not admission.has_room(spec)
