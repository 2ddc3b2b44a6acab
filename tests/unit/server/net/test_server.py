"""Listeners of a server: bind, open, drain; counts of connections and updates."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net import BindError, ListenerSpec
from doorkeeper.server.net.limits import Limits, limits_of
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse
from testkit.channels import PendingAuthorizer
from testkit.edge import (
    LOGIN,
    LOOP_KINDS,
    Clock,
    authenticate,
    create,
    describe,
    edge,
    handshake,
    plain,
    run,
    until,
    versions,
)
from testkit.settings import settings_of
from testkit.tls import client_context, connected, door

if TYPE_CHECKING:
    from pathlib import Path


def listener(name: str, port: int = 0, **more: object) -> ListenerSpec:
    return ListenerSpec(
        name=name,
        security_protocol="PLAINTEXT",
        host="127.0.0.1",
        port=port,
        **more,  # type: ignore[arg-type]
    )


async def test_listeners_are_independent() -> None:
    async with edge(listener("OPEN"), listener("SASL", security=LOGIN)) as running:
        assert len(set(running.ports.values())) == 2
        everybody, user = await running.client("OPEN"), await running.client("SASL")
        name = await everybody.call(describe("principal"), DescribeAclsResponse, 3)
        assert name.error_message == "User:ANONYMOUS@127.0.0.1"
        await user.call(handshake(), SaslHandshakeResponse, 1)
        await user.call(authenticate(plain()), SaslAuthenticateResponse, 2)
        name = await user.call(describe("principal"), DescribeAclsResponse, 3)
        assert name.error_message == "User:alice@127.0.0.1"
        assert (running.server.admission.total, running.server.admission.on_listener("SASL")) == (
            2,
            1,
        )


async def test_listener_is_closed_until_opened() -> None:
    async with edge(listener("A"), listener("LATE"), opened=["A"]) as running:
        client = await running.client("A")
        await client.call(versions(), ApiVersionsResponse, 3)
        with pytest.raises(ConnectionRefusedError):
            await running.client("LATE")

        running.server.listeners["LATE"].open()

        late = await running.client("LATE")
        await late.call(versions(), ApiVersionsResponse, 3)


async def test_port_in_use_binds_nothing() -> None:
    async with edge(listener("A")) as running:
        specs = (listener("FREE"), listener("TAKEN", running.port))
        with pytest.raises(BindError, match="listener TAKEN"):
            async with edge(*specs):
                pass


async def test_idle_connections_are_closed() -> None:
    clock = Clock()
    limits = Limits(idle_ms=100, sweeps_per_idle_time=100)
    async with edge(limits=limits, clock=clock) as running:
        idle, busy = await running.client(), await running.client()
        for client in (idle, busy):
            await client.call(versions(), ApiVersionsResponse, 3)
        clock.now_s += 0.09
        await busy.call(versions(), ApiVersionsResponse, 3)
        clock.now_s += 0.09

        assert await idle.ended() == b""
        await busy.call(versions(), ApiVersionsResponse, 3)


async def test_idle_connections_stay_where_that_is_off() -> None:
    """Source: ``Selector``, which has no expiry of idle connections for a negative time."""
    limits = limits_of(settings_of("connections.max.idle.ms=-1\n"))
    clock = Clock()
    async with edge(limits=limits, clock=clock) as running:
        idle = await running.client()
        await idle.call(versions(), ApiVersionsResponse, 3)
        clock.now_s += 1_000_000
        running.server._sweep()

        await idle.call(versions(), ApiVersionsResponse, 3)


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_drain_answers_received_requests(kind: str) -> None:
    async def main() -> None:
        authorizer = PendingAuthorizer()
        async with edge(authorizer=authorizer) as running:
            client, idle = await running.client(), await running.client()
            await idle.call(versions(), ApiVersionsResponse, 3)
            await client.send(create(["a"], 1) + describe("b", 2))
            await until(lambda: bool(authorizer.futures))

            draining = asyncio.ensure_future(running.server.drain(20))
            assert await idle.ended() == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", running.port)
            assert not draining.done()
            authorizer.futures[0].set_result(AclCreateResult())

            assert await draining == 0
            assert [int.from_bytes((await client.frame())[:4]) for _ in range(2)] == [1, 2]
            assert await client.ended() == b""
            assert running.server.admission.total == 0

    run(kind, main())


async def test_drain_waits_for_updates_of_disconnected_clients() -> None:
    authorizer = PendingAuthorizer()
    async with edge(authorizer=authorizer) as running:
        client = await running.client()
        await client.send(create(["a"]))
        await until(lambda: bool(authorizer.futures))
        client.leave()

        draining = asyncio.ensure_future(running.server.drain(20))
        await asyncio.sleep(0.01)
        assert not draining.done()
        authorizer.futures[0].set_result(AclCreateResult())

        await draining
        assert not running.server.context.updates


async def test_drain_times_out() -> None:
    authorizer = PendingAuthorizer()
    async with edge(authorizer=authorizer) as running:
        client = await running.client()
        await client.send(create(["a"]))
        await until(lambda: bool(authorizer.futures))

        assert await running.server.drain(0.01) == 1
        assert await client.ended() == b""
        authorizer.futures[0].set_result(AclCreateResult())


async def test_connections_are_counted_by_listener(tmp_path: Path) -> None:
    async with edge(door(tmp_path), listener("CLEAR")) as running:
        server = running.server
        await connected(running, client_context())
        with pytest.raises(ssl.SSLError):
            await connected(running, ssl.create_default_context())
        clear = await running.client("CLEAR")
        await clear.call(describe("x"), DescribeAclsResponse, 3)
        await until(lambda: server.listeners["DOOR"].handshakes == (1, 1))

        assert (
            server.admission.accepted["DOOR"],
            server.admission.accepted["CLEAR"],
        ) == (2, 1)
        assert server.encrypted_listener_names == ["DOOR"]
        assert server.listeners["CLEAR"].handshakes == (0, 0)


def test_repr_hides_secrets() -> None:
    spec = ListenerSpec(name="A", security_protocol="SASL", host="", port=1, security=LOGIN)

    assert "secret" not in repr(spec)
