"""Listeners: accepting, the number of connections, addresses."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.net.addresses import (
    BindError,
    bound_socket,
    connection_id,
    java_host_address,
)
from doorkeeper.server.net.admission import Admission
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.listener import Listener
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from testkit.edge import LOOP_KINDS, edge, run, until, versions
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("kind", LOOP_KINDS)
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ECONNABORTED])
def test_errors_never_stop_accepting(
    kind: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ``accept`` says, it goes on; out of descriptors it rests, and says so once."""

    async def main() -> None:
        async with edge(limits=Limits(accept_retry_ms=1)) as running:
            listener = running.server.listeners["CLIENTS"]
            faults = iter([OSError(number, "injected")] * 3)
            take = listener._take_one

            async def failing() -> object:
                for fault in faults:
                    raise fault
                return await take()

            monkeypatch.setattr(Listener, "_take_one", lambda self: failing())
            first, second = await running.client(), await running.client()
            await first.call(versions(), ApiVersionsResponse, 3)
            await second.call(versions(), ApiVersionsResponse, 3)
            paused = "out of file descriptors: not accepting connections until some close"
            told = running.log.events().count(paused)
            assert told == (number == errno.EMFILE)
            assert running.log.events().count("accepting connections again") == told

    run(kind, main())


async def test_address_over_its_limit_is_rejected() -> None:
    async with edge(limits=Limits(connections_per_ip_max=1)) as running:
        first = await running.client()
        await first.call(versions(), ApiVersionsResponse, 3)

        second = await running.client()

        assert await second.ended() == b""
        line = running.log.one("rejected connection: too many connections from its address")
        assert (line.fields["host"], line.fields["maximum"]) == ("127.0.0.1", 1)
        first.leave()
        await until(lambda: running.server.admission.total == 0)
        third = await running.client()
        await third.call(versions(), ApiVersionsResponse, 3)


async def test_stop_closes_accepted_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    async with edge() as running:
        turns: list[Callable[[], None]] = []
        monkeypatch.setattr(FairQueue, "put", lambda self, host, work: turns.append(work))
        client = await running.client()
        await until(lambda: len(turns) == 1)
        counted = running.server.admission.total

        assert await running.server.drain(1) == 0
        turns[0]()

        assert (counted, running.server.admission.total) == (1, 0)
        assert await client.ended() == b""


A = ListenerSpec(
    name="A", security_protocol="PLAINTEXT", host="localhost", port=0, max_connections=2
)
B = ListenerSpec(name="B", security_protocol="PLAINTEXT", host="localhost", port=0)


async def test_listener_has_a_connection_limit() -> None:
    admission = Admission(Limits())
    assert admission.enter(A, "h")
    assert admission.enter(A, "h")

    assert not admission.has_room(A)
    assert admission.has_room(B)
    admission.leave(A, "h")
    assert admission.has_room(A)
    assert (admission.total, admission.on_listener("A")) == (1, 1)
    assert admission.accepted == {"A": 2}


async def test_address_has_its_own_limit() -> None:
    admission = Admission(
        Limits(connections_per_ip_max=1, connections_per_ip_overrides={"b": 2, "c": 0})
    )

    entered = [admission.enter(A, host) for host in ("a", "a", "b", "b", "b", "c")]

    assert entered == [True, False, True, True, False, False]
    assert admission.total == 3


async def test_changed_limits_apply_immediately() -> None:
    admission = Admission(Limits(connections_max=1))
    spec = ListenerSpec(name="A", security_protocol="PLAINTEXT", host="localhost", port=0)
    assert admission.enter(spec, "10.0.0.1")
    waiting = asyncio.ensure_future(admission.wait_for_room(spec))
    await asyncio.sleep(0)
    assert not waiting.done()

    admission.use(Limits(connections_max=5), {"10.0.0.1": 1}, {"A": 2})
    await asyncio.wait_for(waiting, scaled(5))
    assert not admission.enter(spec, "10.0.0.1")
    assert admission.enter(spec, "10.0.0.2")
    assert not admission.has_room(spec)

    admission.use(Limits(connections_max=1), {}, {})
    assert admission.total == 2
    assert not admission.has_room(spec)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("10.0.0.7", 1), "10.0.0.7"),
        (("::1", 1, 0, 0), "0:0:0:0:0:0:0:1"),
        (("::", 1, 0, 0), "0:0:0:0:0:0:0:0"),
        (("::ffff:10.0.0.7", 1, 0, 0), "10.0.0.7"),
        (("::ffff:a00:7", 1, 0, 0), "10.0.0.7"),
        (("2001:DB8::00AB:0", 1, 0, 0), "2001:db8:0:0:0:0:ab:0"),
        (("fe80::1%eth0", 1, 0, 2), "fe80:0:0:0:0:0:0:1%2"),
        (("fe80::1", 1, 0, 3), "fe80:0:0:0:0:0:0:1%3"),
    ],
)
def test_hosts_are_formatted_as_in_java(address: tuple[Any, ...], text: str) -> None:
    """Mapped IPv4 as four numbers, IPv6 as eight groups in lower case, then the interface."""
    assert java_host_address(address) == text


def test_connection_id_has_both_addresses() -> None:
    """Local, remote, processor, number: the form of brokers since 3.9."""
    found = connection_id(("::ffff:127.0.0.1", 9092, 0, 0), ("::1", 5000, 0, 0), 12)

    assert found == "127.0.0.1:9092-0:0:0:0:0:0:0:1:5000-0-12"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("198.51.100.1", "no such address on this machine"),
        ("no-such-host.invalid", "the host is unknown"),
    ],
)
def test_unbindable_address_is_one_line(host: str, reason: str) -> None:
    with pytest.raises(BindError, match=f"listener A: cannot bind {host}:0: {reason}"):
        bound_socket("A", host, 0)


def test_empty_host_binds_all_addresses() -> None:
    """One socket takes IPv4 and IPv6."""
    with bound_socket("A", "", 0) as bound:
        bound.listen()
        assert bound.getsockname()[0] in ("::", "0.0.0.0")
        with socket.create_connection(("127.0.0.1", bound.getsockname()[1])):
            pass
