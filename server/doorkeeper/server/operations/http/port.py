"""The operations port: Kafka's listener code accepts, aiohttp serves.

No fault may reach the Kafka side: a page that raises is a 500 and a line in the log, and memory and
time of each request are bounded. Connections are not kept alive: a scrape every few seconds costs a
handshake, and a peer that sends or reads nothing is closed soon.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final

from aiohttp import web
from msgspec.structs import replace

from doorkeeper.base.secret_files import is_open_to_others
from doorkeeper.server.config.http import HttpSettings, is_loopback
from doorkeeper.server.config.http_keys import HTTP_LISTENER
from doorkeeper.server.net.addresses import BindError
from doorkeeper.server.net.context import Accepted
from doorkeeper.server.net.http_listener import HttpListener
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper.server.operations.http.answers import Stream, status_answer
from doorkeeper.server.operations.http.credentials import Credentials, read_credentials
from doorkeeper.server.operations.http.pages import Pages
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.tls.https import https_context

LIMITS: Final = Limits(
    # Probes and scrapers are few; each connection is gone after one request, or ten seconds.
    connections_max=32,
    connections_per_ip_max=16,
    backlog=32,
    tls_handshakes_max=8,
    tls_handshake_ms=5_000,
    tls_shutdown_ms=5_000,
)
LINE_BYTES_MAX: Final = 2048
HEADER_BYTES_MAX: Final = 8190
HEADERS_MAX: Final = 64
"""The first line, each header line (a bearer token may be long), and the number of headers."""

READ_BYTES_MAX: Final = 16_384
"""Bytes of a request read ahead. Bodies are not read."""

REQUEST_S: Final = 10.0
"""From the end of the handshake to the last byte of the answer; a scrape takes 0.1 s."""

FAILED_LOGIN_S: Final = 0.1
"""The delay of an answer to wrong credentials, as on Kafka's listeners."""

STREAMS_MAX: Final = 8
"""Streams at a time: the other connections are for probes and scrapers."""

WRITE_S: Final = 10.0
"""How long a stream waits for a reader that does not read, before it closes the connection."""

CLOSE_S: Final = 1.0
"""Time for answers in progress when the port closes."""


_SILENT: Final = logging.getLogger("doorkeeper.http.aiohttp")
"""aiohttp would log input of any client with a traceback."""
_SILENT.disabled = True


class HttpPort:
    """The operations port, from binding to closing. Not thread-safe."""

    def __init__(self, settings: HttpSettings, logger: Logger) -> None:
        """Read the files that the settings name."""
        self._settings = settings
        self._logger = logger
        self._tls = _tls_of(settings, logger)
        self._credentials = _credentials_of(settings, logger)
        self._streams = 0
        self._server: web.Server | None = None
        self._listener: HttpListener | None = None
        self._only_local_names = True
        """Whether a request for another host is refused: on loopback without a login."""

    @property
    def credentials(self) -> Callable[[], Credentials] | None:
        """Return a reader of the current credentials; None admits every client."""
        return None if self._credentials is None else self._credentials.current

    @property
    def url(self) -> str:
        """Return the URL of the port; known after ``open``."""
        assert self._listener is not None, "opened before"
        return replace(self._settings, port=self._listener.port).url

    async def open(self, pages: Pages) -> None:
        """Bind and accept.

        Raises:
            BindError: the address is not available, or is not loopback and lacks https and a login.
        """
        self._server = web.Server(partial(self._answer, pages), request_factory=_request)
        self._listener = HttpListener(
            ListenerSpec(
                name=HTTP_LISTENER.name,
                security_protocol="https" if self._settings.is_encrypted else "http",
                host=self._settings.host,
                port=self._settings.port,
            ),
            LIMITS,
            partial(_Connection, self._server),
            tls=None if self._tls is None else self._tls.current,
            logger=self._logger,
        )
        address = self._listener.address
        has_login, is_local = self._settings.has_login, is_loopback(address)
        self._only_local_names = is_local and not has_login
        if not (is_local or (self._settings.is_encrypted and has_login)):
            await self._listener.close()
            raise BindError(
                f"{HTTP_LISTENER}: {address} is not a loopback address, so https and a login"
                " are required"
            )
        self._listener.open()

    async def close(self) -> None:
        """Stop accepting, finish answers in progress, close all connections."""
        if self._listener is not None and self._server is not None:
            await self._listener.close()
            await self._server.shutdown(CLOSE_S)
            self._listener.abort("the server stops")

    # --- requests

    async def _answer(self, pages: Pages, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, web.Request)
        if self._only_local_names:
            name = host_name(request.headers.get("Host", ""))
            if name != self._settings.host.lower() and not is_local_name(name):
                return status_answer(HTTPStatus.MISDIRECTED_REQUEST)
        try:
            answer = await pages.answer(request)
        except Exception:  # nothing of it may reach the other side
            self._logger.exception("a page failed", path=request.path[:100])
            return status_answer(HTTPStatus.INTERNAL_SERVER_ERROR)
        # Guessing is slowed down, also on pages that need no login.
        if answer.status == HTTPStatus.UNAUTHORIZED or answer.guessed:
            await asyncio.sleep(FAILED_LOGIN_S)
        if not isinstance(answer, Stream) or request.method == "HEAD":
            return answer
        if self._streams >= STREAMS_MAX:
            return status_answer(HTTPStatus.SERVICE_UNAVAILABLE)
        self._streams += 1
        try:
            await _send(request, answer)
        finally:
            self._streams -= 1
        return answer


async def _send(request: web.Request, stream: Stream) -> None:
    assert isinstance(request.protocol, _Connection)
    request.protocol.stay_open()
    await stream.prepare(request)
    try:
        async for part in stream.parts:
            # The buffer is bounded: a write ends when the reader has taken enough of it.
            async with asyncio.timeout(WRITE_S):
                await stream.write(part)
    except TimeoutError:
        request.protocol.abort("the client does not read")
    except ConnectionError:
        pass  # the reader has left


# --- aiohttp


def _request(*parts: Any) -> web.Request:
    return web.Request(*(*parts, asyncio.get_running_loop()))


class _Connection(web.RequestHandler, Accepted):
    """aiohttp's protocol of one connection: one request, in bounded time unless it is a stream."""

    __slots__ = ("_deadline", "_lost", "peer_id")

    def __init__(self, server: web.Server, peer_id: str, lost: Callable[[Accepted], None]) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=_SILENT,
            logger=_SILENT,
            lingering_time=0,
            read_bufsize=READ_BYTES_MAX,
            max_line_size=LINE_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )
        self.peer_id = peer_id
        self._lost = lost
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_connected(self) -> bool:
        """Return whether there is a transport: with TLS, after the handshake."""
        return self.transport is not None

    def abort(self, reason: str) -> None:
        if self.transport is not None:
            self.transport.abort()

    def stay_open(self) -> None:
        """Lift the limit of time, for an answer without an end."""
        if self._deadline is not None:
            self._deadline.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(REQUEST_S, self.abort, "timed out")
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Also called where the handshake failed, and there never was a transport."""
        self.stay_open()
        super().connection_lost(exc)
        self._lost(self)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer input that is no HTTP request, without a word of it."""
        if exc is not None:
            # It refers to the connection, which refers to it: a circle that no collection may see.
            exc.__traceback__ = None
        return status_answer(status)


def host_name(header: str) -> str:
    """Return the host of a ``Host`` header, in lower case, without port and brackets."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")


def is_local_name(name: str) -> bool:
    """Return whether no DNS server can make a browser send a request for this host here.

    A page of a foreign name that its DNS server suddenly resolves to 127.0.0.1 is that name's own
    page to a browser, which lets it read the answers (DNS rebinding).
    """
    if not name or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


# --- files


def _credentials_of(settings: HttpSettings, logger: Logger) -> ReloadedFiles[Credentials] | None:
    files = [file for file in (settings.tokens_file, settings.users_file) if file is not None]
    if not files:
        return None
    try:
        credentials = ReloadedFiles(
            lambda: read_credentials(settings.tokens_file, settings.users_file), logger, *files
        )
    except ValueError as error:
        raise ValueError(f"{HTTP_LISTENER}: the login cannot be used: {error}") from None
    for file in filter(is_open_to_others, files):
        logger.warning(
            "a file with clear-text credentials is accessible to other users", file=str(file)
        )
    return credentials


def _tls_of(settings: HttpSettings, logger: Logger) -> ReloadedFiles[ssl.SSLContext] | None:
    certificate, key = settings.certificate_file, settings.key_file
    if certificate is None or key is None:
        return None

    try:
        return ReloadedFiles(lambda: https_context(certificate, key), logger, certificate, key)
    except ValueError as error:
        raise ValueError(f"{HTTP_LISTENER}: https cannot be used: {error}") from None
