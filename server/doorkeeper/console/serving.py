"""The process of the console: sets in the background, an HTTP server.

Kafka's listener code accepts connections, as at the operations port, and uvicorn serves them.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.terminal import fail, say
from doorkeeper.console.app import Console
from doorkeeper.console.login.exposure import Exposure, exposure_of
from doorkeeper.console.login.oidc import Oidc, Refused
from doorkeeper.console.page import Settings
from doorkeeper.console.sets import Sets
from doorkeeper.server.net.addresses import BindError
from doorkeeper.server.net.context import Accepted
from doorkeeper.server.net.http_listener import HttpListener
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper.server.runtime.logger import NO_LOG

LIMITS: Final = Limits(
    # A browser opens six; many descriptors are left for files and clusters.
    connections_max=64,
    tls_handshakes_max=32,
    tls_handshake_ms=10_000,
    tls_shutdown_ms=5_000,
)

STOP_S: Final = 5
"""How long requests in progress may hold up the end."""


def serve(locations: Sequence[Location], options: dict[str, Any]) -> None:
    """Serve until a signal ends it."""
    try:
        exposure = exposure_of(options)
        if exposure.oidc is not None:
            asyncio.run(Oidc(exposure.oidc).provider())
    except (ValueError, OSError, Refused) as error:
        fail([error])
    sets = Sets(locations)
    console = Console(sets, settings_of(options))
    # Not at once: reading large sets would delay the first page by seconds.
    reading = threading.Timer(0.5, sets.start)
    reading.start()
    server = HttpServer(console.app(exposure), exposure)
    # uvicorn raises a signal again at its end, to the handlers that it found: the status stays 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    try:
        server.run()
    except (OSError, BindError) as error:
        fail([f"{error}; --port chooses another"])
    finally:
        reading.cancel()
        sets.close()


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the options that commands of the console take too, as their words."""
    words = [f"--super-user={user}" for user in options["super_users"]]
    if options["allow_everyone"] is not None:
        words.append("--allow-everyone" if options["allow_everyone"] else "--no-allow-everyone")
    if options["release"] is not None:
        words.append(f"--kafka={options['release']}")
    if options["file"] is not None:
        words.append(f"--config={options['file']}")
    names = ("command_config", "rules", "advice", "findings", "allow_changes")
    return Settings(tuple(words), **{name: options[name] for name in names})


class HttpServer(uvicorn.Server):
    """uvicorn's server, which accepts at each address of a host."""

    def __init__(self, app: Starlette, exposure: Exposure) -> None:
        """Take the application, and where it is served."""
        # What peers send wrong is no line of the log.
        options: dict[str, Any] = {"log_level": "error", "lifespan": "off", "ws": "none"}
        options |= dict.fromkeys(("access_log", "server_header", "proxy_headers"), False)
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=STOP_S, **options))
        self._exposure = exposure
        self._listeners: list[HttpListener] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Bind and accept.

        Raises:
            OSError, BindError: the host is not known; the port is taken.
        """
        host, port = self._exposure.host, self._exposure.port
        tls = None if self._exposure.tls is None else self._exposure.tls.current
        found = await asyncio.get_running_loop().getaddrinfo(host, port)
        make = partial(_Connection, self)
        for address in sorted({str(address[0]) for *_, address in found}):
            spec = ListenerSpec(
                name="console", security_protocol=self._exposure.scheme, host=address, port=port
            )
            self._listeners.append(HttpListener(spec, LIMITS, make, tls=tls, logger=NO_LOG))
        for listener in self._listeners:
            listener.open()
        # It is started from here on.
        await super().startup([])
        say(f"the console is at {self._exposure.url}; Ctrl-C stops it")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end requests in progress, and close all connections."""
        for listener in self._listeners:
            await listener.close()
        await super().shutdown(sockets)
        for listener in self._listeners:
            listener.abort("the console stops")


class _Connection(H11Protocol, Accepted):
    """A connection of uvicorn's at a listener."""

    def __init__(self, server: HttpServer, peer_id: str, lost: Callable[[Accepted], None]) -> None:
        super().__init__(server.config, server.server_state, {})
        self.peer_id = peer_id
        self._lost = lost

    @property
    def is_connected(self) -> bool:
        return self.transport is not None

    def abort(self, reason: str) -> None:
        if self.transport is not None:
            self.transport.abort()

    def shutdown(self) -> None:
        """End after the answer to a whole request; one that is not whole would hold up the end."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.more_body:
            self.abort("the console stops")
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Also called where the handshake failed, and there never was a transport."""
        if self.transport is not None:
            super().connection_lost(exc)
        self._lost(self)
