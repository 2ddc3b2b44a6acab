"""The server's edge without the server behind it: a few APIs, a node, a log, real sockets.

The APIs answer from their requests alone, so that what a test sees is the edge's doing:

    ApiVersions, SaslHandshake, SaslAuthenticate    the real ones
    DescribeAcls    echoes the name asked for; ``fail`` raises, ``senseless`` is refused,
                    ``long:N`` answers N rows of 10 kB
    CreateAcls      one binding for each creation, to the authorizer
    DeleteTopics    the names, to the services
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.api import Api
from doorkeeper.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizableRequestContext,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
    Eventually,
)
from doorkeeper.connection import Connection
from doorkeeper.errors import ApiError, ErrorCode, answer_of
from doorkeeper.exchange import Counts, Peer
from doorkeeper.handlers import api_versions, sasl_authenticate, sasl_handshake
from doorkeeper.limits import Limits
from doorkeeper.net import ListenerSpec, Server, new_runner
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    ApiRange,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    Node,
    Outcome,
    RequestContext,
    Response,
)
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.headers import (
    RequestHeader,
    decode_response_header,
    encode_request,
)
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from doorkeeper_wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from testkit.plain import LOGIN as LOGIN  # noqa: PLC0414  for who builds edges with it
from testkit.settings import settings_of

if TYPE_CHECKING:
    from doorkeeper.metrics.requests import RequestMeter

# --- the APIs


def _describe(request: DescribeAclsRequest, context: RequestContext, node: Node) -> Outcome:
    name = request.resource_name_filter or ""
    if name == "fail":
        raise RuntimeError("the handler fails")
    if name == "senseless":
        raise Malformed("name", 7, "says nothing")
    if name == "description":
        name = context.description
    if name == "principal":
        name = f"{context.authorizable.principal}@{context.authorizable.client_address}"
    if name.startswith("codes:"):
        return coded_answer(name.removeprefix("codes:"))
    if name.startswith("long:"):
        return long_answer(int(name.removeprefix("long:")))
    return DescribeAclsResponse(error_message=name)


def coded_answer(codes: str) -> DescribeAclsResponse:
    """Return an answer with an ACL for each "resource type/operation" of a text."""
    return DescribeAclsResponse(
        resources=tuple(
            DescribeAclsResource(
                resource_type=int(kind),
                resource_name="r",
                acls=(AclDescription(operation=int(operation)),),
            )
            for kind, operation in (pair.split("/") for pair in codes.split())
        )
    )


def long_answer(rows: int) -> DescribeAclsResponse:
    """Return an answer with so many rows of 10,000 bytes and a few."""
    return DescribeAclsResponse(
        resources=(DescribeAclsResource(resource_name="x" * 10_000),) * rows
    )


def _refuse_describe(request: Any, version: int, error: BaseException) -> Response:
    code, text = answer_of(error)
    return DescribeAclsResponse(error_code=code, error_message=text)


def _create(request: CreateAclsRequest, context: RequestContext, node: Node) -> Outcome:
    def finish(results: Sequence[AclCreateResult]) -> Response:
        return CreateAclsResponse(results=tuple(map(_created, results)))

    return CreateAcls(bindings=tuple(map(binding, request.creations)), finish=finish)


def _created(result: AclCreateResult) -> AclCreationResult:
    code = result.error.code if result.error else 0
    return AclCreationResult(error_code=code, error_message=None)


def _refuse_create(request: Any, version: int, error: BaseException) -> Response:
    code, text = answer_of(error)
    row = AclCreationResult(error_code=code, error_message=text)
    return CreateAclsResponse(results=(row,) * len(request.creations))


def _delete_topics(request: DeleteTopicsRequest, context: RequestContext, node: Node) -> Outcome:
    names = request.topic_names

    def finish(results: Sequence[ApiError | None]) -> Response:
        return DeleteTopicsResponse(
            responses=tuple(
                DeletableTopicResult(name=name, error_code=error.code if error else 0)
                for name, error in zip(names, results, strict=False)
            )
        )

    return ChangeTopics(deleted=names, finish=finish, wait=request.timeout_ms != 0)


def binding(creation: AclCreation) -> AclBinding:
    """Return the binding of a creation."""
    return AclBinding(
        ResourcePattern(ResourceType.TOPIC, creation.resource_name, PatternType.LITERAL),
        AccessControlEntry("User:x", "*", AclOperation.READ, AclPermissionType.ALLOW),
    )


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        api_versions.API,
        sasl_handshake.API,
        sasl_authenticate.API,
        Api(29, "DescribeAcls", 1, 3, DescribeAclsRequest, _describe, _refuse_describe, True, True),
        Api(30, "CreateAcls", 1, 3, CreateAclsRequest, _create, _refuse_create),
        Api(
            20,
            "DeleteTopics",
            1,
            6,
            DeleteTopicsRequest,
            _delete_topics,
            lambda request, version, error: None,
        ),
    )
}


_settings_of = cache(settings_of)


class EdgeNode:
    """As much of a node as ApiVersions and connections ask for."""

    node_id = 1
    cluster_id = "4L6g3nShT-eMCtK--X86sw"

    def __init__(self, properties: str = "") -> None:
        self.settings = _settings_of(properties)

    def api_ranges(self, *, controller: bool) -> Sequence[ApiRange]:
        """Return the ranges of ``APIS``."""
        return [ApiRange(api.key, api.min_version, api.max_version) for api in APIS.values()]


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
    """Changes of topics, completed by the test."""

    def __init__(self) -> None:
        """Begin with none."""
        self.changes: list[tuple[ChangeTopics, asyncio.Future[Sequence[ApiError | None]]]] = []

    def change_topics(
        self, change: ChangeTopics, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Keep the change."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.changes.append((change, future))
        return future

    async def alter_configs(
        self, change: AlterConfigs, context: RequestContext
    ) -> Sequence[ApiError | None]:
        """Accept everything."""
        return [None] * len(change.resources)

    async def alter_credentials(
        self, change: AlterCredentials, context: RequestContext
    ) -> Sequence[ApiError | None]:
        """Accept everything."""
        return [None] * len(change.users)

    async def change_token(self, change: ChangeToken, context: RequestContext) -> Sequence[Any]:
        """Refuse everything."""
        return [ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)]


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
    offers: Offers = IN_CLEAR,
    limits: Limits | None = None,
    *,
    controller: bool = False,
    properties: str = "",
    counts: Counts | None = None,
    established: bool = True,
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
        apis=APIS.get,
        mechanisms=offers.mechanisms,
        builder=offers.builder,
        limits=limits or Limits(),
        counts=counts or Counts(),
    )
    if established:
        assert made.established() is None
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
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def call(self, data: bytes, response: type[Any], version: int) -> Any:
        """Send one request and return the body of its answer."""
        await self.send(data)
        return answer(await self.frame(), response, version)[1]

    async def ended(self) -> bytes:
        """Wait for the end of the connection; return what came before it."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def ended_frames(self) -> list[bytes]:
        """Wait for the end of the connection; return the answers that came before it."""
        return frames(await self.ended())

    def leave(self) -> None:
        """Cut the connection off."""
        self.writer.transport.abort()


PATIENCE_S = 20.0
"""How long a test waits for what must come; nothing that passes takes this long."""

LOOP_KINDS = ("uvloop", "asyncio")


def run(loop_kind: str, main: Coroutine[Any, Any, None]) -> None:
    """Run a test on a loop of this kind."""
    with new_runner(loop_kind) as runner:
        runner.run(main)


async def until(true: Callable[[], bool]) -> None:
    """Let the loop turn until something is true; fail when that does not come."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - what it waits for tells nobody
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
    log, services = Log(), HandServices()
    server = Server(
        specs,
        limits or Limits(),
        cast("Node", EdgeNode()),
        authorizer,
        services,
        log,
        apis=APIS.get,
        clock=clock,
        requests=requests,
    )
    await server.bind()
    running = Edge(server=server, log=log, services=services)
    try:
        for spec in specs:
            if opened is None or spec.name in opened:
                await server.open(spec.name)
            running.ports[spec.name] = server.bound_port(spec.name)
        yield running
    finally:
        for client in running.clients:
            client.leave()
        await asyncio.sleep(0)
        await server.drain(0.2)
