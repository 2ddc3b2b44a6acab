"""A connection of a client, against servers that do not do what they should."""

from __future__ import annotations

import asyncio
import gc
import ssl
import struct
from typing import Any

import pytest

from doorkeeper.client.config import Address, ClientConfig
from doorkeeper.client.connection import ClientConnection, describe_error
from doorkeeper.client.errors import (
    ConnectionLost,
    LoginRefused,
    NotServed,
    TimedOut,
    TlsFailed,
    Unreachable,
    Unsendable,
)
from doorkeeper.client.logins import Bearer, Password
from doorkeeper_wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse
from testkit.loop_clock import time_by_hand
from testkit.scripted_server import ScriptedServer, versions

PLAIN = Password("PLAIN", "alice", "alice-secret")
HELLO = SaslHandshakeResponse(mechanisms=("PLAIN",))


def config(server: ScriptedServer, **parts: object) -> ClientConfig:
    return ClientConfig(bootstrap=server.address, **parts)  # type: ignore[arg-type]


async def connected(server: ScriptedServer, **parts: object) -> ClientConnection:
    return await ClientConnection.connect(
        Address("127.0.0.1", server.port), config(server, **parts)
    )


async def describe(connection: ClientConnection, name: str = "t") -> str | None:
    request = DescribeAclsRequest(resource_name_filter=name)
    return (await connection.call(request, DescribeAclsResponse)).error_message


def echo(request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_message=request.resource_name_filter)


async def test_versions_are_negotiated() -> None:
    """It refuses in version 0 and says its newest, which is asked then."""
    refused: list[int] = []

    def answer(_request: object) -> ApiVersionsResponse | bytes:
        if refused:
            return versions(DescribeAcls=2)
        refused.append(1)
        body = ApiVersionsResponse(
            error_code=35, api_keys=(ApiVersion(api_key=18, min_version=0, max_version=2),)
        ).encode(0)
        return struct.pack(">ii", len(body) + 4, 1) + body

    async with ScriptedServer(ApiVersions=answer) as server:
        connection = await connected(server)
        await connection.close()

    assert [each.api_version for each in server.headers] == [4, 2]


async def test_unsupported_apis_are_not_sent() -> None:
    rows = (ApiVersion(api_key=29, min_version=90, max_version=99),)
    async with ScriptedServer(ApiVersions=lambda _: ApiVersionsResponse(api_keys=rows)) as server:
        connection = await connected(server)
        with pytest.raises(
            NotServed, match="supports DescribeAcls in versions 90 to 99; this client supports"
        ):
            await describe(connection)
        with pytest.raises(NotServed, match="does not support CreateAcls"):
            await connection.call(CreateAclsRequest(creations=()), CreateAclsResponse)
        with pytest.raises(NotServed, match=f": a controller, .* controllers://{server.address}"):
            await connection.call(MetadataRequest(), MetadataResponse)
        await connection.close()

    assert server.asked == []


async def test_cancelled_call_does_not_affect_others() -> None:
    held: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def answer(request: DescribeAclsRequest) -> object:
        return held if request.resource_name_filter == "a" else echo(request)

    async with ScriptedServer(DescribeAcls=answer) as server:  # type: ignore[arg-type]
        connection = await connected(server)
        given_up = asyncio.create_task(describe(connection, "a"))
        other = asyncio.create_task(describe(connection, "b"))
        await server.was_asked.wait()
        given_up.cancel()
        await asyncio.wait([given_up])
        held.set_result(DescribeAclsResponse(error_message="a"))

        assert given_up.cancelled()
        assert await other == "b"
        assert connection.alive
        await connection.close()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "the server closed the connection; perhaps the listener requires a login"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a Kafka server"),
        (
            struct.pack(">iib", 5, 99, 0),
            "malformed response: the correlation id belongs to another request",
        ),
        (struct.pack(">iib", 5, 2, 0), "malformed response: "),
        (struct.pack(">ii", 4, 2) * 2, "not a Kafka server"),
    ],
)
async def test_malformed_response_ends_the_connection(answer: bytes | None, text: str) -> None:
    async with ScriptedServer(DescribeAcls=lambda _: answer) as server:
        connection = await connected(server)
        with pytest.raises(ConnectionLost) as raised:
            await describe(connection)

        assert str(raised.value).startswith(f"{server.address}: ")
        assert text in str(raised.value)
        assert not connection.alive
        with pytest.raises(ConnectionLost):
            await describe(connection)
        await connection.close()


async def test_timeout_ends_the_connection() -> None:
    silent: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    async with ScriptedServer(DescribeAcls=lambda _: silent) as server:  # type: ignore[arg-type,return-value]
        connection = await connected(server, request_timeout_ms=20_000)
        with time_by_hand() as clock:
            asking = asyncio.create_task(describe(connection))
            await server.was_asked.wait()
            clock.now_s += 20
            with pytest.raises(TimedOut, match="no response to DescribeAcls within 20000 ms"):
                await asking

        assert not connection.alive
        await connection.close()
        silent.cancel()


async def test_unreachable_server_is_reported() -> None:
    for address, text in (
        (Address("127.0.0.1", 1), "127.0.0.1:1: Connection refused"),
        (Address("x" * 80, 1), "x:1: "),
        (Address("127.0.0.1", 70000), "127.0.0.1:70000: "),
    ):
        with pytest.raises(Unreachable) as raised:
            await ClientConnection.connect(address, ClientConfig(bootstrap="unused:1"))
        assert text in str(raised.value)


async def test_server_without_tls_is_reported() -> None:
    context = ssl.create_default_context()
    async with ScriptedServer() as server:
        with pytest.raises((TlsFailed, Unreachable)):
            await connected(server, tls=context, request_timeout_ms=20)


async def test_login_error_has_the_servers_text() -> None:
    refused = SaslAuthenticateResponse(error_code=58, error_message="go away")
    for parts, text in (
        ({"SaslHandshake": HELLO, "SaslAuthenticate": refused}, "SASL_AUTHENTICATION_FAILED: go"),
        (
            {"SaslHandshake": SaslHandshakeResponse(error_code=33, mechanisms=("GSSAPI", "X"))},
            "mechanism PLAIN is not enabled; enabled: GSSAPI, X",
        ),
        (
            {"SaslHandshake": SaslHandshakeResponse(error_code=33, mechanisms=())},
            "not enabled; the listener offers no mechanism; it may not be a SASL listener",
        ),
    ):
        scripts = {name: (lambda _, each=each: each) for name, each in parts.items()}
        async with ScriptedServer(**scripts) as server:
            with pytest.raises(LoginRefused) as raised:
                await connected(server, login=PLAIN)
        assert text in str(raised.value)
        assert "alice-secret" not in str(raised.value)


async def test_endless_login_is_aborted() -> None:
    async def token() -> str:
        return "t"

    more = SaslAuthenticateResponse(auth_bytes=b"more")
    async with ScriptedServer(
        SaslHandshake=lambda _: HELLO, SaslAuthenticate=lambda _: more
    ) as server:
        with pytest.raises(LoginRefused, match="authentication did not complete"):
            await connected(server, login=Bearer(token))


async def test_session_is_renewed_between_requests() -> None:
    """KIP-368: once most of its time is over, after what is under way and before what is next."""
    lifetimes = iter((1, 3_600_000))

    def authenticate(_request: object) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(session_lifetime_ms=next(lifetimes))

    async with ScriptedServer(
        SaslHandshake=lambda _: HELLO, SaslAuthenticate=authenticate, DescribeAcls=echo
    ) as server:
        connection = await connected(server, login=PLAIN)
        await asyncio.sleep(0.002)
        names = await asyncio.gather(*(describe(connection, str(each)) for each in range(3)))
        await connection.close()

    assert names == ["0", "1", "2"]
    kinds = [type(each).__name__ for each in server.asked]
    login = ["SaslHandshakeRequest", "SaslAuthenticateRequest"]
    assert kinds == [*login, *login, *["DescribeAclsRequest"] * 3]


async def test_failed_renewal_ends_the_connection() -> None:
    answers = iter((SaslAuthenticateResponse(session_lifetime_ms=1), None))
    async with ScriptedServer(
        SaslHandshake=lambda _: HELLO,
        SaslAuthenticate=lambda _: (
            next(answers) or SaslAuthenticateResponse(error_code=58, error_message="no more")
        ),
        DescribeAcls=echo,
    ) as server:
        connection = await connected(server, login=PLAIN)
        await asyncio.sleep(0.002)
        with pytest.raises(LoginRefused, match="no more"):
            await describe(connection)

        assert not connection.alive
        await connection.close()


class ResetWriter:
    """The writer of a connection that the other side resets while it is closed."""

    def __init__(self) -> None:
        self.transport = self
        self.closing = asyncio.Event()

    def close(self) -> None:
        self.closing.set()

    def abort(self) -> None:
        pass

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)
        raise ConnectionResetError


@pytest.mark.usefixtures("young_heap")
async def test_cancelled_close_leaves_no_exception() -> None:
    """asyncio would report it as an error of the server."""
    reports: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
    writer: Any = ResetWriter()
    streams = asyncio.StreamReader(), writer
    connection = ClientConnection(Address("127.0.0.1", 1), ClientConfig(bootstrap="k:1"), streams)
    closing = asyncio.create_task(connection.close())
    await writer.closing.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await asyncio.sleep(0.01)

    gc.collect()

    assert reports == []


def test_system_errors_are_one_line() -> None:
    """asyncio's own words give way to the system's; certificates are told with the reason."""
    assert (
        describe_error(OSError(111, "Connect call failed ('127.0.0.1', 1)")) == "Connection refused"
    )
    assert describe_error(OSError("Multiple\nexceptions")) == "Multiple exceptions"
    assert describe_error(ssl.SSLError(1, "[SSL: X] unhelpful")).startswith("TLS: ")
    assert describe_error(ValueError()) == "ValueError"


async def test_closed_tls_handshake_is_reported() -> None:
    async def end(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(end, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="reset by peer; perhaps the listener"):
            await ClientConnection.connect(
                Address("127.0.0.1", port),
                ClientConfig(bootstrap="unused:1", tls=ssl.create_default_context()),
            )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("y" * 32_768, "resource_name_filter: 'yyy.* takes 32768 bytes; at most 32767"),
        ("a\udcff", "resource_name_filter: .* contains an unpaired surrogate"),
    ],
)
async def test_unencodable_request_is_not_sent(name: str, fault: str) -> None:
    async with ScriptedServer(DescribeAcls=echo) as server:
        connection = await connected(server)
        with pytest.raises(Unsendable, match=f"DescribeAcls cannot be sent: {fault}"):
            await describe(connection, name)
        assert await describe(connection, "next") == "next"
        await connection.close()

    assert len(server.asked) == 1
