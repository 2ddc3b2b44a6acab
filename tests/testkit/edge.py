"""The server's edge without the server behind it: an authorizer, services, a log, real sockets.

What is served are the APIs of ``testkit.edge_apis``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from doorkeeper.server.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
    Eventually,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.net import ListenerSpec, Server, new_runner
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import UNAUTHENTICATED, ConnectionSecurity
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Counts, Peer
from doorkeeper_wire.framing import (
    RequestHeader,
    decode_response_header,
    encode_request,
)
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from testkit.edge_apis import APIS, EdgeNode
from testkit.load import scaled
from testkit.plain import LOGIN as LOGIN  # noqa: PLC0414  for who builds edges with it

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.base.errors import ApiError
    from doorkeeper.server.api.node import Node, Services
    from doorkeeper.server.api.registry import ApiTable
    from doorkeeper.server.runtime.metrics.meters import RequestMeter
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

# --- who decides, and who changes topics


class HandAuthorizer(Authorizer):
    """Gives what the test has prepared: ``created`` makes the awaitables of one request."""

    def __init__(
        self, created: Callable[[Sequence[AclBinding]], Sequence[Eventually[AclCreateResult]]]
    ) -> None:
        """Answer creations by this function."""
        self.created = created
        self.asked: list[tuple[AuthorizableRequestContext, tuple[AclBinding, ...]]] = []

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        """Start nothing."""
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Allow everything."""
        return [AuthorizationResult.ALLOWED] * len(actions)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Sequence[Eventually[AclCreateResult]]:
        """Return what the test prepared."""
        assert context is not None, "a client asked"
        self.asked.append((context, tuple(bindings)))
        return self.created(bindings)

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Sequence[Eventually[AclDeleteResult]]:
        """Delete nothing."""
        return [done(AclDeleteResult()) for _ in filters]

    def acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Have none."""
        return ()


def done(result: Any) -> asyncio.Future[Any]:
    """Return a future that is complete."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


class HandServices:
    """The authorizer, and changes of topics that the test completes."""

    def __init__(self, authorizer: GuardedAuthorizer | None, limits: Limits) -> None:
        """Begin with no change."""
        self.authorizer = authorizer
        self.update_timeout_s = limits.update_timeout_ms / 1000
        self.changes: list[tuple[tuple[str, ...], asyncio.Future[Sequence[ApiError | None]]]] = []

    async def delete_topics(self, names: tuple[str, ...]) -> Sequence[ApiError | None]:
        """Keep the change; its result is the test's."""
        future: asyncio.Future[Sequence[ApiError | None]]
        future = asyncio.get_running_loop().create_future()
        self.changes.append((names, future))
        return await future


# --- the log


class Line(NamedTuple):
    """One line of the log."""

    level: str
    event: str
    fields: dict[str, object]


class Log:
    """Keeps what is logged."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.lines: list[Line] = []

    def debug(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(Line("debug", event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(Line("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(Line("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(Line("error", event, fields))

    def exception(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(Line("error", event, fields))

    def events(self, level: str = "") -> list[str]:
        """Return the events, of one level or of all."""
        return [line.event for line in self.lines if level in ("", line.level)]

    def one(self, event: str) -> Line:
        """Return the only line of this event."""
        (line,) = [line for line in self.lines if line.event == event]
        return line


# --- requests and answers


def request(message: Any, version: int, correlation_id: int = 1, client: str | None = "t") -> bytes:
    """Return the whole frame of a request."""
    header = RequestHeader(
        api_key=message.API_KEY,
        api_version=version,
        correlation_id=correlation_id,
        client_id=client,
    )
    return encode_request(header, message.encode(version))


def describe(name: str, correlation_id: int = 1, version: int = 3) -> bytes:
    """Return a DescribeAcls that is answered with the name."""
    message = DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter=name,
        pattern_type_filter=3,
        operation=1,
        permission_type=1,
    )
    return request(message, version, correlation_id)


def create(names: Sequence[str], correlation_id: int = 1) -> bytes:
    """Return a CreateAcls of one ACL for each name."""
    rows = tuple(
        AclCreation(
            resource_type=2,
            resource_name=name,
            resource_pattern_type=3,
            principal="User:x",
            host="*",
            operation=3,
            permission_type=3,
        )
        for name in names
    )
    return request(CreateAclsRequest(creations=rows), 3, correlation_id)


def versions(version: int = 3, correlation_id: int = 1, software: str = "test") -> bytes:
    """Return an ApiVersions; of a version that the codec has."""
    message = ApiVersionsRequest(client_software_name=software, client_software_version="1.0")
    return request(message, version, correlation_id)


def handshake(mechanism: str = "PLAIN", version: int = 1, correlation_id: int = 1) -> bytes:
    """Return a SaslHandshake."""
    return request(SaslHandshakeRequest(mechanism=mechanism), version, correlation_id)


def plain(user: str = "alice", password: str | None = None, authzid: str = "") -> bytes:
    """Return a token of PLAIN; the right password where none is given."""
    secret = f"{user}-secret" if password is None else password
    return f"{authzid}\0{user}\0{secret}".encode()


def authenticate(token: bytes, version: int = 2, correlation_id: int = 1) -> bytes:
    """Return a SaslAuthenticate."""
    return request(SaslAuthenticateRequest(auth_bytes=token), version, correlation_id)


def bare(token: bytes) -> bytes:
    """Return a frame without a header."""
    return len(token).to_bytes(4) + token


def answer(frame: bytes, response: type[Any], version: int) -> tuple[int, Any]:
    """Return correlation id and body of an answer without its size; nothing may be left over."""
    header, at = decode_response_header(frame, response.API_KEY, version)
    body, end = response.decode(frame, at, version)
    assert end == len(frame)
    return header.correlation_id, body


def frames(data: bytes) -> list[bytes]:
    """Cut answers apart; nothing may be left over."""
    found = []
    while data:
        size = int.from_bytes(data[:4])
        assert len(data) >= 4 + size
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


# --- a connection without a socket


def connection(
    offers: ConnectionSecurity = UNAUTHENTICATED,
    limits: Limits | None = None,
    *,
    controller: bool = False,
    properties: str = "",
    counts: Counts | None = None,
    established: bool = True,
    apis: ApiTable = APIS,
) -> Connection:
    """Return the protocol's side of a connection from 127.0.0.1; a shell establishes its own."""
    peer = Peer(
        "127.0.0.1:9092-127.0.0.1:50000-0-7",
        "127.0.0.1",
        "CLIENTS",
        "PLAINTEXT" if offers.mechanisms is None else "SASL_PLAINTEXT",
        controller=controller,
        number=7,
    )
    made = Connection(
        peer,
        node=cast("Node", EdgeNode(properties)),
        apis=apis,
        mechanisms=offers.mechanisms,
        builder=offers.builder,
        limits=limits or Limits(),
        counts=counts or Counts(),
    )
    if established:
        assert made.start() is None
    return made


# --- a server with sockets


@dataclass(slots=True)
class Clock:
    """Seconds that pass when the test says so."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


@dataclass(slots=True, kw_only=True)
class Edge:
    """A server that runs, and what belongs to it."""

    server: Server
    log: Log
    services: HandServices
    ports: dict[str, int] = field(default_factory=dict)
    clients: list[Client] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Return the port of the first listener."""
        return next(iter(self.ports.values()))

    async def client(self, listener: str = "", host: str = "127.0.0.1") -> Client:
        """Connect."""
        port = self.ports[listener] if listener else self.port
        client = Client(*await asyncio.open_connection(host, port))
        self.clients.append(client)
        return client


class Client(NamedTuple):
    """A connection of a test; frames in, frames out."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Write, and wait till it has left."""
        self.writer.write(data)
        await self.writer.drain()

    async def frame(self) -> bytes:
        """Return the next answer without its size."""
        async with asyncio.timeout(scaled(PATIENCE_S)):
            size = int.from_bytes(await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def call(self, data: bytes, response: type[Any], version: int) -> Any:
        """Send one request and return the body of its answer."""
        await self.send(data)
        return answer(await self.frame(), response, version)[1]

    async def ended(self) -> bytes:
        """Wait for the end of the connection; return what came before it."""
        try:
            async with asyncio.timeout(scaled(PATIENCE_S)):
                return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def ended_frames(self) -> list[bytes]:
        """Wait for the end of the connection; return the answers that came before it."""
        return frames(await self.ended())

    def leave(self) -> None:
        """Cut the connection off."""
        self.writer.transport.abort()


PATIENCE_S = 60.0
"""How long a test waits for what must come; nothing that passes takes this long."""

LOOP_KINDS = ("uvloop", "asyncio")


def run(loop_kind: str, main: Coroutine[Any, Any, None]) -> None:
    """Run a test on a loop of this kind."""
    with new_runner(loop_kind) as runner:
        runner.run(main)


async def until(true: Callable[[], bool]) -> None:
    """Let the loop turn until something is true; fail when that does not come."""
    async with asyncio.timeout(scaled(PATIENCE_S)):
        while not true():
            await asyncio.sleep(0)


@asynccontextmanager
async def edge(
    *specs: ListenerSpec,
    limits: Limits | None = None,
    authorizer: Authorizer | None = None,
    clock: Callable[[], float] | None = None,
    requests: RequestMeter | None = None,
    opened: Sequence[str] | None = None,
) -> AsyncIterator[Edge]:
    """Run a server, by default with one PLAINTEXT listener; drain it in the end.

    ``opened`` names the listeners that are opened; None opens all.
    """
    specs = specs or (
        ListenerSpec(name="CLIENTS", security_protocol="PLAINTEXT", host="127.0.0.1", port=0),
    )
    limits = limits or Limits()
    guarded = None if authorizer is None else GuardedAuthorizer(authorizer)
    log, services = Log(), HandServices(guarded, limits)
    server = Server(
        specs,
        limits,
        cast("Node", EdgeNode()),
        guarded,
        cast("Services", services),
        log,
        apis=APIS,
        clock=clock,
        requests=requests,
    )
    await server.bind()
    running = Edge(server=server, log=log, services=services)
    try:
        for spec in specs:
            if opened is None or spec.name in opened:
                server.listeners[spec.name].open()
            running.ports[spec.name] = server.listeners[spec.name].port
        yield running
    finally:
        for client in running.clients:
            client.leave()
        await asyncio.sleep(0)
        await server.drain(0.2)
