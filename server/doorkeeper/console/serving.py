"""The process of the console: sets in the background, an HTTP server."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.terminal import fail, say
from doorkeeper.console.app import Console
from doorkeeper.console.login.exposure import exposure_of
from doorkeeper.console.login.oidc import Oidc, Refused
from doorkeeper.console.page import Settings
from doorkeeper.console.sets import Sets


def serve(locations: Sequence[Location], options: dict[str, Any]) -> None:
    """Serve until a signal ends it."""
    try:
        exposure = exposure_of(options)
        if exposure.oidc is not None:
            asyncio.run(Oidc(exposure.oidc).provider())
    except (ValueError, OSError, Refused) as error:
        fail([error])
    try:
        sockets = list(_sockets(exposure.host, exposure.port))
    except OSError as error:
        fail([f"port {exposure.port}: {error.strerror}; --port chooses another"])
    sets = Sets(locations)
    console = Console(sets, settings_of(options))
    config = uvicorn.Config(
        console.app(exposure),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
    )
    config.load()
    config.ssl = exposure.tls
    say(f"the console is at {exposure.url}; Ctrl-C stops it")
    # Not at once: reading large sets would delay the first page by seconds.
    reading = threading.Timer(0.5, sets.start)
    reading.start()
    server = uvicorn.Server(config)
    # uvicorn raises a signal again at its end, to the handlers that it found: the status stays 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    try:
        server.run(sockets)
    finally:
        reading.cancel()
        sets.close()


def _sockets(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket for each address of a host.

    Raises:
        OSError: the host is not known, or the port is taken.
    """
    resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, address in {(family, address) for family, *_, address in resolved}:
        yield socket.create_server(address[:2], family=family)


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
