"""A proxy in front of a broker, through which the clients of ``doorkeeper learn`` go.

Bytes pass through as they are, but for the addresses of brokers in responses, which become those of
the tap, and the versions that the broker offers: only those that can be read here. Each broker of
the cluster gets a listener of its own when a response names it. TLS cannot be read.

Principals are those of the logins, as the client states them: the broker checks the credentials.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeVar

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.cli.learn.shadow import readable_versions
from doorkeeper.client.config import Address
from doorkeeper_wire.framing import (
    FrameBuffer,
    decode_request_header,
    decode_response_header,
    encode_response,
)
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_cluster import DescribeClusterResponse
from doorkeeper_wire.messages.find_coordinator import FindCoordinatorResponse
from doorkeeper_wire.messages.metadata import MetadataResponse
from doorkeeper_wire.messages.produce import ProduceRequest
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.cli.learn.shadow import Shadow
    from doorkeeper_wire.framing import RequestHeader

    class _Addressed(Protocol):
        """A part of a response that names a broker."""

        @property
        def host(self) -> str: ...
        @property
        def port(self) -> int: ...
        def replace(self, **changes: Any) -> Self: ...


R = TypeVar("R", bound="_Addressed")

PRODUCE, METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER = 0, 3, 10, 18, 60
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
_UNSUPPORTED_VERSION: Final = 35

FRAME_BYTES_MAX: Final = 104_857_600
"""Kafka's default of ``socket.request.max.bytes``; the first bytes of TLS mean more."""

_PIECE_BYTES: Final = 1 << 16
_RAW_TOKENS: Final = {"PLAIN": 1}
"""The tokens that a client sends after SaslHandshake 0, without headers; of others two."""

_ADDRESSED: Final[
    dict[int, type[MetadataResponse | FindCoordinatorResponse | DescribeClusterResponse]]
] = {
    METADATA: MetadataResponse,
    FIND_COORDINATOR: FindCoordinatorResponse,
    DESCRIBE_CLUSTER: DescribeClusterResponse,
}
UNKNOWN: Final = Principal("User", "UNKNOWN")
"""The principal of a login that cannot be read, as with Kerberos."""


class _Sent(NamedTuple):
    """A request that waits for its response."""

    header: RequestHeader
    frame: bytes
    offset: int


class Tap:
    """The listeners of the proxy. ``report`` gets a line for each fault."""

    def __init__(self, shadow: Shadow, listen_host: str, report: Callable[[str], None]) -> None:
        self._shadow = shadow
        self._host = listen_host
        self._report = report
        self._servers: dict[Address, asyncio.Server] = {}
        self._opening = asyncio.Lock()
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, broker: Address, port: int = 0) -> Address:
        """Listen for a broker, once; return the address.

        Raises:
            OSError: the port is taken.
        """
        async with self._opening:
            server = self._servers.get(broker)
            if server is None:

                def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                    task = asyncio.ensure_future(self._serve(reader, writer, broker))
                    self._connections.add(task)
                    task.add_done_callback(self._connections.discard)

                # In place of its port a free one: two brokers may differ in the host only.
                server = await asyncio.start_server(accept, self._host, port)
                self._servers[broker] = server
            return Address(self._host, server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Close all listeners and connections."""
        for server in self._servers.values():
            server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: Address
    ) -> None:
        try:
            from_broker, to_broker = await asyncio.open_connection(*broker)
        except OSError as error:
            self._report(f"{broker}: {error.strerror or error}")
            writer.close()
            return
        host = writer.get_extra_info("peername")[0]
        conversation = _Conversation(self._shadow, self, host, self._report)
        pumps = [
            asyncio.ensure_future(_pump(reader, to_broker, conversation.take_request)),
            asyncio.ensure_future(_pump(from_broker, writer, conversation.take_response)),
        ]
        try:
            # A client that has closed its side waits for nothing more, nor does a broker.
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                fault = pump.exception()
                if fault is not None:
                    self._report(f"a connection was closed: {type(fault).__name__}: {fault}")
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            writer.close()
            to_broker.close()


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    take: Callable[[bytes], Awaitable[bytes]],
) -> None:
    """Pass frames on until a side closes."""
    buffer = FrameBuffer(FRAME_BYTES_MAX)
    with suppress(ConnectionError):
        while data := await reader.read(_PIECE_BYTES):
            for frame in buffer.receive(data):
                passed = await take(frame)
                writer.write(len(passed).to_bytes(4) + passed)
            await writer.drain()


class _Conversation:
    """One connection: its login, and the requests that wait for responses."""

    def __init__(self, shadow: Shadow, tap: Tap, host: str, report: Callable[[str], None]) -> None:
        self._shadow = shadow
        self._tap = tap
        self._host = host
        self._report = report
        self._sent: deque[_Sent | None] = deque()
        self._mechanism = ""
        self._raw_tokens = 0
        self._principal = ANONYMOUS
        self._claimed: Principal | None = None

    async def take_request(self, frame: bytes) -> bytes:
        """Note a request; return its bytes."""
        if self._raw_tokens:
            self._raw_tokens -= 1
            self._claim(frame)
            self._sent.append(None)
            return frame
        header, offset = decode_request_header(frame)
        sent = _Sent(header, frame, offset)
        if header.api_key == SASL_HANDSHAKE:
            handshake, _ = SaslHandshakeRequest.decode(frame, offset, header.api_version)
            self._mechanism, self._claimed = handshake.mechanism, None
            if header.api_version == 0:
                self._raw_tokens = _RAW_TOKENS.get(handshake.mechanism, 2)
        elif header.api_key == SASL_AUTHENTICATE:
            login, _ = SaslAuthenticateRequest.decode(frame, offset, header.api_version)
            self._claim(login.auth_bytes)
        elif header.api_key == PRODUCE and _wants_no_answer(sent):
            self._observe(sent)
            return frame
        # Brokers answer the requests of a connection in their order.
        self._sent.append(sent)
        return frame

    async def take_response(self, frame: bytes) -> bytes:
        """Return the bytes of a response for the client, with the addresses of the tap."""
        sent = self._sent.popleft()
        if sent is None:
            self._principal = self._claimed or UNKNOWN
            return frame
        key, version = sent.header.api_key, sent.header.api_version
        if key == SASL_HANDSHAKE:
            return frame
        if key == SASL_AUTHENTICATE:
            _, offset = decode_response_header(frame, key, version)
            login, _ = SaslAuthenticateResponse.decode(frame, offset, version)
            if not login.error_code:
                # Kafka's clients may log in again (KIP-368); the last success counts.
                self._principal = self._claimed or UNKNOWN
            return frame
        if key == API_VERSIONS:
            return _limit_versions(frame, version)
        kind = _ADDRESSED.get(key)
        if kind is not None:
            _, offset = decode_response_header(frame, key, version)
            response, _ = kind.decode(frame, offset, version)
            if isinstance(response, MetadataResponse):
                # Before the request is observed: only missing topics need CREATE.
                self._shadow.learn_topics(response)
            replaced = await self._with_own_addresses(response)
            correlation_id = sent.header.correlation_id
            frame = encode_response(key, version, correlation_id, replaced.encode(version))[4:]
        self._observe(sent)
        return frame

    def _observe(self, sent: _Sent) -> None:
        try:
            self._shadow.observe(*sent, self._principal, self._host)
        except Exception as error:  # a fault in counting must not end the connection
            self._report(f"a request is not counted: {type(error).__name__}: {error}")

    def _claim(self, token: bytes) -> None:
        """Take the principal of the first token of a login."""
        if self._claimed is None:
            self._claimed = principal_of(self._mechanism, token)

    async def _with_own_addresses(
        self, response: MetadataResponse | FindCoordinatorResponse | DescribeClusterResponse
    ) -> MetadataResponse | FindCoordinatorResponse | DescribeClusterResponse:
        if not isinstance(response, FindCoordinatorResponse):
            brokers = [await self._with_own_address(broker) for broker in response.brokers]
            return response.replace(brokers=tuple(brokers))
        rows = [await self._with_own_address(coordinator) for coordinator in response.coordinators]
        own = await self._with_own_address(response)
        return own.replace(coordinators=tuple(rows))

    async def _with_own_address(self, row: R) -> R:
        # A coordinator that is not available has no address.
        if not row.host or row.port <= 0:
            return row
        own = await self._tap.open(Address(row.host, row.port))
        return row.replace(host=own.host, port=own.port)


def _wants_no_answer(sent: _Sent) -> bool:
    request, _ = ProduceRequest.decode(sent.frame, sent.offset, sent.header.api_version)
    return request.acks == 0


def _limit_versions(frame: bytes, version: int) -> bytes:
    """Return an ApiVersions response with the APIs and versions that can be read here."""
    # A broker that lacks the version answers in version 0 (KIP-511); the header is 0 always.
    if int.from_bytes(frame[4:6]) == _UNSUPPORTED_VERSION:
        version = 0
    response, _ = ApiVersionsResponse.decode(frame, 4, version)
    rows = []
    for api in response.api_keys:
        readable = readable_versions(api.api_key)
        if readable is None:
            continue
        lowest, highest = max(api.min_version, readable[0]), min(api.max_version, readable[1])
        if lowest <= highest:
            rows.append(api.replace(min_version=lowest, max_version=highest))
    return frame[:4] + response.replace(api_keys=tuple(rows)).encode(version)


def principal_of(mechanism: str, token: bytes) -> Principal | None:
    """Return the principal that the first token of a login states; None if it cannot be read."""
    try:
        return _PARSERS[mechanism.partition("-")[0]](token)
    except (KeyError, ValueError, IndexError, TypeError):
        return None


def _plain_user(token: bytes) -> Principal:
    return Principal("User", token.split(b"\0")[1].decode())


def _scram_user(token: bytes) -> Principal | None:
    match = re.match(rb"[nyp][^,]*,[^,]*,(?:m=[^,]*,)?n=([^,]*)", token)
    if match is None:
        return None
    return Principal("User", match[1].decode().replace("=2C", ",").replace("=3D", "="))


def _bearer_user(token: bytes) -> Principal | None:
    match = re.search(rb"auth=Bearer [^.]*\.([^.]*)\.", token)
    if match is None:
        return None
    claims = json.loads(base64.urlsafe_b64decode(match[1] + b"=" * (-len(match[1]) % 4)))
    return Principal("User", str(claims["sub"]))


_PARSERS: Final = {"PLAIN": _plain_user, "SCRAM": _scram_user, "OAUTHBEARER": _bearer_user}
