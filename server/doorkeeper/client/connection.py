"""One connection to a server: versions agreed, logged in, requests in flight side by side.

Answers come in the order of the requests, so each answer belongs to the oldest request that has
none. A session that the server limits is renewed in place (KIP-368) when most of its time is over:
the next request waits until all before it are answered and the login is done again.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from collections import deque
from typing import TYPE_CHECKING, Final, Self, TypeVar

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
from doorkeeper.errors import ErrorCode
from doorkeeper.version import __version__
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable
from doorkeeper_wire.framing import FrameBuffer
from doorkeeper_wire.headers import RequestHeader, decode_response_header, encode_request
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
_VERSIONS_ASKED: Final = 4
"""The newest ApiVersions that brokers of today answer; 5 adds what we would not say."""
_NO_SASL: Final = "the listener offers no mechanism: it may not be one for SASL"
_RENEWED_AT: Final = 0.85
"""The part of a session's time after which it is renewed; Java clients draw from 0.85 to 0.95."""
_STEPS_MAX: Final = 16
_FAREWELL_S: Final = 1.0
"""How long a peer may take to take leave; the connection goes without it then."""


class Connection:
    """A connection that is open and logged in; ``connect`` makes one."""

    def __init__(self, address: Address, config: ClientConfig, streams: Streams) -> None:
        """Take streams that are connected."""
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
        """Connect, ask the versions, log in.

        Raises:
            Unreachable: nobody listens there.
            TlsFailed: the two do not trust each other, or one of them speaks no TLS.
            LoginRefused: we are not let in.
            ClientError: anything else.

        """
        made = cls(address, config, await _streams(address, config))
        try:
            await made._agree()
            if config.login is not None:
                await made._log_in(config.login)
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def alive(self) -> bool:
        """Say whether requests may be sent."""
        return self._lost is None

    def version_of(self, request: type[Message]) -> int:
        """Return the newest version of an API that both sides speak.

        Raises:
            NotServed: there is none.

        """
        name = API_NAMES[request.API_KEY]
        served = self._versions.get(request.API_KEY)
        unsupported = f"The node does not support {_java_name(name)}"
        if served is None:
            raise NotServed(f"{self.address} does not serve {name}", unsupported)
        version = min(served[1], request.MAX_VERSION)
        if version < max(served[0], request.MIN_VERSION):
            raise NotServed(
                f"{self.address} serves {name} in versions {served[0]} to {served[1]}; ours are"
                f" {request.MIN_VERSION} to {request.MAX_VERSION}",
                unsupported,
            )
        return version

    async def call(self, request: Message, answer: type[A]) -> A:
        """Send a request and return its answer; several calls may be under way at once.

        Raises:
            NotServed: the server does not speak the API.
            Unsendable: the request cannot be written in the version that both sides speak.
            TimedOut: no answer in time; the connection is closed, as its order is lost.
            ConnectionLost: it ended before.

        """
        version = self.version_of(type(request))
        await self._renew()
        return await self._ask(request, answer, version)

    async def close(self) -> None:
        """End the connection; requests without an answer fail."""
        self._ended(ConnectionLost(f"{self.address}: the connection was closed"))
        self._reading.cancel()
        leaving = asyncio.ensure_future(self._writer.wait_closed())
        await asyncio.wait([self._reading, leaving], timeout=_FAREWELL_S)
        self._writer.transport.abort()
        leaving.cancel()
        if leaving.done() and not leaving.cancelled():
            # How the other side left does not matter any more.
            leaving.exception()

    # --- requests and answers

    async def _ask(self, request: Message, answer: type[A], version: int) -> A:
        frame, at = await self._exchange(request, version)
        return self._decoded(frame, at, answer, version)

    async def _exchange(self, request: Message, version: int) -> tuple[bytes, int]:
        """Send a request; return the frame of its answer, and where the body begins."""
        if self._lost is not None:
            raise self._lost
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
        frame = await self._answered(future, API_NAMES[request.API_KEY])
        try:
            found, at = decode_response_header(frame, request.API_KEY, version)
        except Malformed as error:
            raise self._unreadable(str(error)) from error
        if found.correlation_id != header.correlation_id:
            raise self._unreadable("it belongs to another request")
        return frame, at

    async def _answered(self, future: asyncio.Future[bytes], name: str) -> bytes:
        timeout_ms = self._config.request_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._writer.drain()
                return await future
        except TimeoutError:
            # The order of answers is all that tells whose they are.
            raise self._ended(
                TimedOut(f"{self.address}: no answer to {name} in {timeout_ms} ms")
            ) from None
        except OSError as error:
            raise self._ended(self._broken(error)) from error

    def _decoded(self, frame: bytes, at: int, answer: type[A], version: int) -> A:
        try:
            return answer.decode(frame, at, version)[0]
        except Malformed as error:
            raise self._unreadable(str(error)) from error

    def _unreadable(self, why: str) -> ClientError:
        return self._ended(ConnectionLost(f"{self.address}: an answer cannot be read: {why}"))

    async def _read(self) -> None:
        """Hand out answers until the connection ends."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                for frame in self._frames.receive(data):
                    self._hand_out(frame)
            self._ended(ConnectionLost(f"{self.address}: the server closed the connection"))
        except InvalidFrame:
            self._ended(ConnectionLost(f"{self.address}: this is no Kafka server"))
        except OSError as error:
            self._ended(self._broken(error))
        finally:
            self._ended(ConnectionLost(f"{self.address}: the connection was closed"))

    def _broken(self, error: OSError) -> ClientError:
        """Return what an error of the transport means; TLS 1.3 refuses certificates that late."""
        if isinstance(error, ssl.SSLError):
            return TlsFailed(f"{self.address}: {told(error)}")
        return ConnectionLost(f"{self.address}: {told(error)}")

    def _hand_out(self, frame: bytes) -> None:
        if not self._waiting:
            # Nobody has asked for it.
            raise InvalidFrame(len(frame), 0)
        future = self._waiting.popleft()
        if not future.done():
            future.set_result(frame)

    def _ended(self, error: ClientError) -> ClientError:
        """End the connection and fail what waits; return the reason, which is the first one."""
        if self._lost is None:
            self._lost = error
        self._writer.close()
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(self._lost)
                # Its caller may have given up.
                future.exception()
        return self._lost

    # --- versions and login

    async def _agree(self) -> None:
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        answer = await self._versions_of(request, _VERSIONS_ASKED)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            newest = {each.api_key: each.max_version for each in answer.api_keys}
            version = min(newest.get(ApiVersionsRequest.API_KEY, 0), _VERSIONS_ASKED)
            answer = await self._versions_of(request, version)
        if answer.error_code:
            raise ApiFailure(answer.error_code, None)
        self._versions = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }

    async def _versions_of(self, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        """Ask for versions; the refusal of a version that is too new comes in version 0."""
        frame, at = await self._exchange(request, version)
        refused = frame[at : at + 2] == int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2)
        return self._decoded(frame, at, ApiVersionsResponse, 0 if refused else version)

    async def _log_in(self, login: Login) -> None:
        # It may ask somebody for a token, which takes its time: before anything is said.
        exchange = await login.exchange()
        shaken = await self._ask(
            SaslHandshakeRequest(mechanism=login.mechanism), SaslHandshakeResponse, 1
        )
        if shaken.error_code:
            offered = ", ".join(shaken.mechanisms)
            instead = f"offered are {offered}" if offered else _NO_SASL
            raise LoginRefused(
                f"{self.address}: {login.mechanism} is not offered; {instead}",
                shaken.error_code,
                f"Client SASL mechanism '{login.mechanism}' not enabled in the server, enabled"
                f" mechanisms are [{offered}]",
            )
        lifetime_ms = await self._authenticate(exchange, exchange.first())
        loop = asyncio.get_running_loop()
        self._renew_at_s = loop.time() + lifetime_ms / 1000 * _RENEWED_AT if lifetime_ms else None

    async def _authenticate(self, exchange: Exchange, token: bytes) -> int:
        """Exchange tokens to the end; return how long the session lasts in ms, 0 for ever."""
        version = self.version_of(SaslAuthenticateRequest)
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
                following = exchange.answer(answer.auth_bytes)
            except LoginRefused as error:
                raise LoginRefused(f"{self.address}: {error}") from error
            if following is None:
                return answer.session_lifetime_ms
            token = following
        raise LoginRefused(f"{self.address}: the login does not come to an end")

    async def _renew(self) -> None:
        """Log in again where most of the session's time is over."""
        if self._renew_at_s is None or self._config.login is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._renew_at_s:
            return
        async with self._renewing:
            if loop.time() >= self._renew_at_s:
                if self._waiting:
                    await asyncio.wait(tuple(self._waiting))
                try:
                    await self._log_in(self._config.login)
                except BaseException:
                    # Half a login is none: nothing else can be asked on this connection.
                    self._ended(ConnectionLost(f"{self.address}: the session was not renewed"))
                    raise


async def _streams(address: Address, config: ClientConfig) -> Streams:
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
        raise Unreachable(f"{address}: no connection in {waited_ms} ms") from error
    except ssl.SSLError as error:
        raise TlsFailed(f"{address}: {told(error)}") from error
    except (OSError, OverflowError, ValueError) as error:
        # A server may name itself in ways that are no host or port.
        hint = "; does the server speak TLS there?" if config.tls and _is_reset(error) else ""
        raise Unreachable(f"{address}: {told(error)}{hint}") from error


def _is_reset(error: Exception) -> bool:
    return isinstance(error, ConnectionResetError)


def told(error: Exception) -> str:
    """Return an error of the system as people know it, on one line."""
    if _is_reset(error):
        # asyncio has no words for one that ends in the midst of a handshake.
        return os.strerror(errno.ECONNRESET)
    if isinstance(error, ssl.SSLError):
        reason = (getattr(error, "reason", None) or str(error)).replace("_", " ").lower()
        verified = getattr(error, "verify_message", "")
        return f"TLS: {reason}: {verified}" if verified else f"TLS: {reason}"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        # asyncio puts its own words in the place of the system's.
        return os.strerror(error.errno)
    return " ".join(str(error).split()) or type(error).__name__


def _java_name(name: str) -> str:
    """Return the name of an API as Java's constants are written: DESCRIBE_ACLS."""
    return "".join(f"_{each}" if each.isupper() else each for each in name).lstrip("_").upper()
