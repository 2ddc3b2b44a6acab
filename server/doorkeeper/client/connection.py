"""One connection to a server: version negotiation, login, pipelined requests.

Responses come in the order of the requests, so each belongs to the oldest pending request. A
session that the server limits is reauthenticated in place (KIP-368) when most of its time has
passed: the next request waits until all before it are answered and the login is complete.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import ssl
from collections import deque
from typing import TYPE_CHECKING, Final, Self, TypeVar

from doorkeeper.base.errors import ErrorCode
from doorkeeper.base.version import __version__
from doorkeeper.client.errors import (
    ApiFailure,
    ClientError,
    ConnectionLost,
    LoginRefused,
    NotServed,
    TimedOut,
    TlsFailed,
    Unreachable,
    Unsendable,
    code_name,
    stock_text,
)
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable
from doorkeeper_wire.framing import (
    FrameBuffer,
    RequestHeader,
    decode_response_header,
    encode_request,
)
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.client.config import Address, ClientConfig
    from doorkeeper.client.logins import Exchange, Login
    from doorkeeper_wire.message import Message

A = TypeVar("A", bound="Message")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

SOFTWARE_NAME: Final = "doorkeeper-client"
_READ_BYTES: Final = 65536
# The newest version that brokers of today support; 5 adds fields that this client does not set.
_VERSIONS_ASKED: Final = 4
_NO_SASL: Final = "the listener offers no mechanism; it may not be a SASL listener"
# The part of a session's lifetime after which it is renewed; Java clients draw 0.85 to 0.95.
_RENEWED_AT: Final = 0.85
# The longest mechanism, SCRAM, takes two.
_STEPS_MAX: Final = 16
# A larger response is decoded in a thread: this one takes a millisecond.
_LARGE_BYTES: Final = 64 * 1024
# The time for the peer's close_notify; the connection is aborted without it.
_FAREWELL_S: Final = 1.0


class ClientConnection:
    """An open connection, logged in; created by ``connect``."""

    def __init__(self, address: Address, config: ClientConfig, streams: Streams) -> None:
        self.address = address
        self._config = config
        self._reader, self._writer = streams
        self._frames = FrameBuffer(config.answer_bytes_max)
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._correlation_id = 0
        self._versions: Mapping[int, tuple[int, int]] = {}
        self._renew_at_s: float | None = None
        self._renewing = asyncio.Lock()
        self._lost: ClientError | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def connect(cls, address: Address, config: ClientConfig) -> Self:
        """Connect, negotiate versions, log in.

        Raises:
            Unreachable: no server listens there.
            TlsFailed: a certificate is not trusted, or one side does not use TLS.
            LoginRefused: the login failed.
            ClientError: any other failure.
        """
        connection = cls(address, config, await _streams(address, config))
        try:
            await connection._negotiate_versions()
            if config.login is not None:
                await connection._log_in(config.login)
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def alive(self) -> bool:
        return self._lost is None

    def version_of(self, request: type[Message]) -> int:
        """Return the newest version of an API that both sides support."""
        name = API_NAMES[request.API_KEY]
        served = self._versions.get(request.API_KEY)
        # Like Java's constants: DESCRIBE_ACLS.
        constant = re.sub("(?<!^)(?=[A-Z])", "_", name).upper()
        unsupported = f"The node does not support {constant}"
        if served is None:
            text = f"{self.address} does not support {name}"
            if name == "Metadata":
                # Every broker serves it, and no controller.
                text += f": a controller, whose address is controllers://{self.address}"
            raise NotServed(text, unsupported)
        version = min(served[1], request.MAX_VERSION)
        if version < max(served[0], request.MIN_VERSION):
            raise NotServed(
                f"{self.address} supports {name} in versions {served[0]} to {served[1]}; this"
                f" client supports {request.MIN_VERSION} to {request.MAX_VERSION}",
                unsupported,
            )
        return version

    async def call(self, request: Message, answer: type[A]) -> A:
        """Send a request and return its response; several calls may be in flight.

        Raises:
            NotServed: the server does not support the API.
            Unsendable: the request cannot be encoded in the common version.
            TimedOut: no response in time; the connection is closed, as the order is lost.
            ConnectionLost: it ended before the response.
        """
        version = self.version_of(type(request))
        await self._renew()
        return await self._ask(request, answer, version)

    async def close(self) -> None:
        """Close the connection; pending requests fail."""
        self._end(ConnectionLost(f"{self.address}: the connection was closed"))
        self._reading.cancel()
        # A TLS peer may never send its close_notify: wait for a bounded time, then abort.
        leaving = asyncio.ensure_future(self._writer.wait_closed())
        # Also where this call is cancelled, as by a time-out: it ends by itself then.
        leaving.add_done_callback(_retrieve_exception)
        await asyncio.wait([self._reading, leaving], timeout=_FAREWELL_S)
        # Also after a regular close, where it does nothing.
        self._writer.transport.abort()
        leaving.cancel()

    # --- requests and answers

    async def _ask(self, request: Message, answer: type[A], version: int) -> A:
        frame, at = await self._exchange(request, version)
        return await self._decode(frame, at, answer, version)

    async def _exchange(self, request: Message, version: int) -> tuple[bytes, int]:
        """Send a request; return the frame of its response, and the offset of the body."""
        if self._lost is not None:
            raise self._lost
        # An int32 on the wire.
        self._correlation_id = (self._correlation_id + 1) & 0x7FFF_FFFF
        header = RequestHeader(
            api_key=request.API_KEY,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._config.client_id,
        )
        try:
            sent = encode_request(header, request.encode(version))
        except Unencodable as error:
            raise Unsendable(f"{API_NAMES[request.API_KEY]} cannot be sent: {error}") from error
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._writer.write(sent)
        frame = await self._await_answer(future, API_NAMES[request.API_KEY])
        try:
            response_header, at = decode_response_header(frame, request.API_KEY, version)
        except Malformed as error:
            raise self._unreadable(str(error)) from error
        # The order is lost: no later response can be matched either.
        if response_header.correlation_id != header.correlation_id:
            raise self._unreadable("the correlation id belongs to another request")
        return frame, at

    async def _await_answer(self, future: asyncio.Future[bytes], name: str) -> bytes:
        timeout_ms = self._config.request_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._writer.drain()
                return await future
        except TimeoutError:
            # A later response would be taken for that of the next request.
            raise self._end(
                TimedOut(f"{self.address}: no response to {name} within {timeout_ms} ms")
            ) from None
        except OSError as error:
            raise self._end(self._broken(error)) from error

    async def _decode(self, frame: bytes, at: int, answer: type[A], version: int) -> A:
        try:
            if len(frame) <= _LARGE_BYTES:
                return answer.decode(frame, at, version)[0]
            # The loop of a server serves others meanwhile.
            return (await asyncio.to_thread(answer.decode, frame, at, version))[0]
        except Malformed as error:
            raise self._unreadable(str(error)) from error

    def _unreadable(self, why: str) -> ClientError:
        return self._end(ConnectionLost(f"{self.address}: malformed response: {why}"))

    async def _read(self) -> None:
        """Deliver responses until the connection ends."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                for frame in self._frames.receive(data):
                    self._deliver(frame)
            # A listener that wants a login closes a connection that sends something else.
            hint = "; perhaps the listener requires a login (--command-config)"
            hint = "" if self._config.login is not None else hint
            self._end(ConnectionLost(f"{self.address}: the server closed the connection{hint}"))
        except InvalidFrame:
            self._end(ConnectionLost(f"{self.address}: not a Kafka server"))
        except OSError as error:
            self._end(self._broken(error))
        finally:
            self._end(ConnectionLost(f"{self.address}: the connection was closed"))

    def _broken(self, error: OSError) -> ClientError:
        """Convert a transport error; TLS 1.3 reports a refused certificate this late."""
        if isinstance(error, ssl.SSLError):
            return TlsFailed(f"{self.address}: {describe_error(error)}")
        return ConnectionLost(f"{self.address}: {describe_error(error)}")

    def _deliver(self, frame: bytes) -> None:
        if not self._waiting:
            # A response without a request.
            raise InvalidFrame(len(frame), 0)
        future = self._waiting.popleft()
        if not future.done():
            future.set_result(frame)

    def _end(self, error: ClientError) -> ClientError:
        """Close the connection and fail pending requests; return the first cause."""
        if self._lost is None:
            self._lost = error
        self._writer.close()
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(self._lost)
                # Retrieve the exception: its caller may have been cancelled.
                future.exception()
        return self._lost

    # --- versions and login

    async def _negotiate_versions(self) -> None:
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        answer = await self._versions_of(request, _VERSIONS_ASKED)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            newest = {served.api_key: served.max_version for served in answer.api_keys}
            version = min(newest.get(ApiVersionsRequest.API_KEY, 0), _VERSIONS_ASKED)
            answer = await self._versions_of(request, version)
        if answer.error_code:
            raise ApiFailure(answer.error_code, None)
        self._versions = {
            served.api_key: (served.min_version, served.max_version) for served in answer.api_keys
        }

    async def _versions_of(self, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        """Request versions; the error for an unsupported version comes in version 0."""
        frame, at = await self._exchange(request, version)
        # KIP-511: a server that does not know the version answers in version 0. The error code is
        # the first field of every version.
        refused = frame[at : at + 2] == int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2)
        return await self._decode(frame, at, ApiVersionsResponse, 0 if refused else version)

    async def _log_in(self, login: Login) -> None:
        # Before the handshake: fetching a token may take longer than the server waits.
        exchange = await login.exchange()
        shaken = await self._ask(
            SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse, 1
        )
        if shaken.error_code:
            offered = ", ".join(shaken.mechanisms)
            instead = f"enabled: {offered}" if offered else _NO_SASL
            raise LoginRefused(
                f"{self.address}: mechanism {login.mechanism} is not enabled; {instead}",
                shaken.error_code,
                f"Client SASL mechanism '{login.mechanism}' not enabled in the server, enabled"
                f" mechanisms are [{offered}]",
            )
        lifetime_ms = await self._authenticate(exchange)
        loop = asyncio.get_running_loop()
        self._renew_at_s = loop.time() + lifetime_ms / 1000 * _RENEWED_AT if lifetime_ms else None

    async def _authenticate(self, exchange: Exchange) -> int:
        """Exchange tokens to the end; return the session's lifetime in ms, 0 for unlimited."""
        version = self.version_of(SaslAuthenticateRequest)
        token = next(exchange)
        for _ in range(_STEPS_MAX):
            answer = await self._ask(
                SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, version
            )
            if answer.error_code:
                text = answer.error_message or stock_text(answer.error_code)
                raise LoginRefused(
                    f"{self.address}: {code_name(answer.error_code)}: {text}",
                    answer.error_code,
                    text,
                )
            try:
                token = exchange.send(answer.auth_bytes)
            except StopIteration:
                return answer.session_lifetime_ms
            except LoginRefused as error:
                raise LoginRefused(f"{self.address}: {error}") from error
        raise LoginRefused(f"{self.address}: the authentication did not complete")

    async def _renew(self) -> None:
        """Log in again when most of the session's lifetime has passed."""
        if self._renew_at_s is None or self._config.login is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._renew_at_s:
            return
        async with self._renewing:
            # Another call may have renewed the session while this one waited for the lock.
            if loop.time() >= self._renew_at_s:
                if self._waiting:
                    # The server takes no other request between the handshake and the end of a login
                    # (KIP-368).
                    await asyncio.wait(tuple(self._waiting))
                try:
                    await self._log_in(self._config.login)
                except BaseException:
                    # During a login the server accepts no other request on this connection.
                    self._end(ConnectionLost(f"{self.address}: the session was not renewed"))
                    raise


def _retrieve_exception(leaving: asyncio.Future[None]) -> None:
    """Keep asyncio from reporting how the other side closed: it does not matter."""
    if not leaving.cancelled():
        leaving.exception()


async def _streams(address: Address, config: ClientConfig) -> Streams:
    if config.connect is not None:
        return await asyncio.open_connection(sock=await config.connect(), limit=_READ_BYTES)
    tls = {} if config.tls is None else {"ssl_shutdown_timeout": _FAREWELL_S}
    try:
        async with asyncio.timeout(config.request_timeout_ms / 1000):
            return await asyncio.open_connection(
                address.host,
                address.port,
                ssl=config.tls,
                server_hostname=address.host if config.tls is not None else None,
                limit=_READ_BYTES,
                **tls,
            )
    except TimeoutError as error:
        waited_ms = config.request_timeout_ms
        raise Unreachable(f"{address}: no connection within {waited_ms} ms") from error
    except ssl.SSLError as error:
        raise TlsFailed(f"{address}: {describe_error(error)}") from error
    except (OSError, OverflowError, ValueError) as error:
        # Advertised addresses may be no valid host or port (ValueError, OverflowError).
        hint = "; perhaps the listener does not use TLS" if config.tls and _is_reset(error) else ""
        raise Unreachable(f"{address}: {describe_error(error)}{hint}") from error


def _is_reset(error: Exception) -> bool:
    return isinstance(error, ConnectionResetError)


def describe_error(error: Exception) -> str:
    """Return an error's usual text, on one line."""
    if _is_reset(error):
        # asyncio raises it without a text if the peer closes during a handshake.
        return os.strerror(errno.ECONNRESET)
    if isinstance(error, ssl.SSLError):
        reason = (getattr(error, "reason", None) or str(error)).replace("_", " ").lower()
        verified = getattr(error, "verify_message", "")
        return f"TLS: {reason}: {verified}" if verified else f"TLS: {reason}"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        # asyncio replaces the system's text by its own.
        return os.strerror(error.errno)
    return " ".join(str(error).split()) or type(error).__name__
