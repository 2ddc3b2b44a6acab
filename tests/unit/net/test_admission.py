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


async def test_an_address_has_its_own_limit() -> None:
    """One address is held to its limit, others are not; an override counts before the rest."""
    admission = Admission(
        Limits(connections_per_ip_max=1, connections_per_ip_overrides={"b": 2, "c": 0})
    )

    entered = [admission.enter(A, host) for host in ("a", "a", "b", "b", "b", "c")]

    assert entered == [True, False, True, True, False, False]
    assert admission.total == 3


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
