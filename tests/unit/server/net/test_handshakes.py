"""TLS at the server's edge."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.net.limits import Limits
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.certificates import Authority, world
from testkit.edge import LOOP_KINDS, Client, Edge, describe, edge, run, until, versions
from testkit.tls import client_context, connected, door, offers

if TYPE_CHECKING:
    from pathlib import Path


both_loops = pytest.mark.parametrize("kind", LOOP_KINDS)
FAILED = "failed TLS handshake"
AT_LAST = Limits(tls_handshake_ms=100, tls_handshake_overdue_ms=10, tls_linger_ms=100)


async def silent(port: int) -> Client:
    """Connect and say nothing."""
    return Client(*await asyncio.open_connection("127.0.0.1", port))


async def asked(running: Edge, context: ssl.SSLContext) -> bytes:
    """Connect, ask, and return everything up to the end."""
    client = await connected(running, context)
    await client.send(versions())
    return await client.reader.read()


@both_loops
def test_tls_requests_and_certificates(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with edge(door(tmp_path, ssl_client_auth="required")) as running:
            client = await connected(running, client_context(world().alice, tmp_path))
            await client.call(versions(), ApiVersionsResponse, 3)
            for number in range(3):
                await client.call(describe("x" * 30_000, number), DescribeAclsResponse, 3)

            (channel,) = running.server._channels
            context = channel.connection.session._context
            assert context.peer_certificates == (world().alice.der, world().authority.own.der)
            assert (context.security_protocol, context.listener_name) == ("SSL", "DOOR")
            assert channel.connection.session.principal.name == (
                "CN=alice,OU=ServiceUsers,O=Example\\, Inc,C=DE"
            )

    run(kind, main())


async def test_client_without_certificate_is_anonymous(tmp_path: Path) -> None:
    async with edge(door(tmp_path, ssl_client_auth="requested")) as running:
        client = await connected(running, client_context())
        await client.call(versions(), ApiVersionsResponse, 3)
        (channel,) = running.server._channels
        assert channel.connection.session.principal.name == "ANONYMOUS"


@both_loops
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_rejected_client_receives_an_alert(
    kind: str, version: ssl.TLSVersion, tmp_path: Path
) -> None:
    """It gets an alert, also in TLS 1.3, where its own handshake is over by then."""

    async def main() -> None:
        async with edge(door(tmp_path, ssl_client_auth="required")) as running:
            context = client_context(world().stranger, tmp_path)
            context.maximum_version = version
            with pytest.raises(ssl.SSLError, match="ALERT"):
                await asked(running, context)
            await until(lambda: FAILED in running.log.events())
            line = running.log.one(FAILED)
            assert line.level == "info"
            assert line.fields["listener"] == "DOOR"
            assert str(line.fields["reason"]).startswith("the client's certificate is refused: ")
            await until(lambda: running.server.admission.total == 0)

    run(kind, main())


async def test_slow_handshake_does_not_delay_others(tmp_path: Path) -> None:
    async with edge(door(tmp_path), limits=AT_LAST) as running:
        slow = await silent(running.port)
        await until(lambda: running.server.admission.total == 1)
        quick = await connected(running, client_context())
        await quick.call(versions(), ApiVersionsResponse, 3)
        assert FAILED not in running.log.events()

        assert await slow.ended() == b""
        await until(lambda: running.server.admission.total == 1)
        assert running.log.one(FAILED).fields["reason"] == "timed out"
        slow.writer.close()


async def test_oldest_silent_handshake_is_dropped(tmp_path: Path) -> None:
    limits = Limits(tls_handshakes_max=2, tls_handshake_overdue_ms=20)
    async with edge(door(tmp_path), limits=limits) as running:
        slow = [await silent(running.port) for _ in range(4)]
        quick = await connected(running, client_context())
        await quick.call(versions(), ApiVersionsResponse, 3)

        handshakes = running.server.listeners["DOOR"]._handshakes
        assert len(handshakes._running) <= 2
        assert await slow[0].ended() == b""
        reasons = {line.fields["reason"] for line in running.log.lines if line.event == FAILED}
        assert reasons == {"timed out"}
        for each in slow:
            each.leave()


async def test_client_without_tls_is_logged(tmp_path: Path) -> None:
    async with edge(door(tmp_path), limits=AT_LAST) as running:
        client = await silent(running.port)
        await client.send(versions())
        await client.ended()
        looks = await silent(running.port)
        looks.writer.close()
        await until(lambda: running.log.events().count(FAILED) == 2)
        reasons = [each.fields["reason"] for each in running.log.lines if each.event == FAILED]
        assert reasons == ["the client does not speak TLS", "the client disconnected"]
        await until(lambda: running.server.admission.total == 0)
        client.leave()


async def test_unexpected_error_ends_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with edge(door(tmp_path)) as running:

        def faulty(*_given: object, **_named: object) -> ssl.SSLObject:
            raise RuntimeError("odd")

        context = running.server._security["DOOR"].tls
        assert context is not None
        with monkeypatch.context() as patch:
            patch.setattr(type(context), "wrap_bio", faulty)
            client = await silent(running.port)
            assert await client.ended() == b""
            await until(lambda: running.server.admission.total == 0)
            client.leave()
        line = running.log.one("a TLS handshake failed in the server")
        assert line.level == "error"
        other = await connected(running, client_context())
        await other.call(versions(), ApiVersionsResponse, 3)


async def test_new_context_applies_to_new_connections(tmp_path: Path) -> None:
    other = Authority("Other")
    server = other.server().write_pem(tmp_path / "other.pem")
    async with edge(door(tmp_path)) as running:
        before = await connected(running, client_context())
        await before.call(versions(), ApiVersionsResponse, 3)
        running.server.use_security("DOOR", offers(tmp_path, ssl_keystore_location=server))
        with pytest.raises(ssl.SSLError):
            await connected(running, client_context())
        after = await connected(running, client_context(authority=other))

        await after.call(versions(), ApiVersionsResponse, 3)
        await before.call(versions(), ApiVersionsResponse, 3)
