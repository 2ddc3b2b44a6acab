"""Accepting connections on one address, by a loop of our own.

``loop.create_server`` accepts without limit. This loop waits for room before it accepts, limits
connections per address, pauses when the process has no descriptor left, and reads the current TLS
context for each connection. TLS handshakes run beside it.

Accepted sockets wait in the fair queue of unauthenticated connections and not in the kernel's
backlog, which is short: a peer that finds it full retries only after a second.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ssl import SSLContext
from typing import Any, Final

from doorkeeper.server.net.addresses import bind_error, bound_socket, java_host_address
from doorkeeper.server.net.admission import Admission
from doorkeeper.server.net.context import Accepted
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.handshakes import Handshakes
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper.server.runtime.logger import Logger

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of ``accept`` when the process or the machine is out of resources."""


class Listener:
    """A bound address."""

    __slots__ = (
        "_accepting",
        "_admission",
        "_arriving",
        "_fair_queue",
        "_handshakes",
        "_logger",
        "_make",
        "_socket",
        "_tls",
        "_waiting",
        "address",
        "port",
        "spec",
    )

    def __init__(
        self,
        spec: ListenerSpec,
        *,
        admission: Admission,
        make: Callable[[ListenerSpec, socket.socket, tuple[Any, ...]], Accepted],
        tls: Callable[[ListenerSpec], SSLContext | None],
        fair_queue: FairQueue,
        logger: Logger,
    ) -> None:
        """Bind; connections are refused until ``open``.

        Raises:
            BindError: the address is not available.
        """
        self.spec = spec
        self._admission = admission
        self._make = make
        self._tls = tls
        self._fair_queue = fair_queue
        self._logger = logger
        self._waiting: dict[socket.socket, str] = {}
        self._arriving: set[asyncio.Task[None]] = set()
        self._handshakes = Handshakes(spec.name, admission.limits, logger)
        self._accepting: asyncio.Task[None] | None = None
        self._socket = bound_socket(spec.name, spec.host, spec.port)
        self.address: str = self._socket.getsockname()[0]
        self.port: int = self._socket.getsockname()[1]

    def open(self) -> None:
        """Listen and accept.

        Raises:
            BindError: another process listens on the address by now.
        """
        if self._accepting is not None:
            return
        try:
            self._socket.listen(self._admission.limits.backlog)
        except OSError as error:
            raise bind_error(self.spec.name, self.spec.host, self.port, error) from None
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    @property
    def handshakes(self) -> tuple[int, int]:
        """Return the numbers of successful and of failed TLS handshakes."""
        return self._handshakes.succeeded, self._handshakes.failures

    @property
    def is_open(self) -> bool:
        return self._accepting is not None and not self._accepting.done()

    async def close(self) -> None:
        """Stop accepting, cancel handshakes in progress, and free the address."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
        self._socket.close()
        for accepted, host in self._waiting.items():
            accepted.close()
            self._admission.leave(self.spec, host)
        self._waiting.clear()
        await self._handshakes.close()

    async def _accept(self) -> None:
        resting = False
        while True:
            await self._admission.wait_for_room(self.spec)
            if self._tls(self.spec) is not None:
                await self._handshakes.wait_for_room(self._waiting)
            try:
                accepted, address = await self._take_one()
            except OSError as error:
                # Other errors are of one peer, such as ECONNABORTED.
                if error.errno in OUT_OF_DESCRIPTORS:
                    resting = await self._rest(error, resting=resting)
                continue
            if resting:
                resting = False
                self._logger.info("accepting connections again", listener=self.spec.name)
            self._admit(accepted, address)

    async def _take_one(self) -> tuple[socket.socket, tuple[Any, ...]]:
        """Accept one connection in each turn of the loop."""
        # Other work of the loop comes first, even with a full backlog.
        await asyncio.sleep(0)
        with suppress(BlockingIOError):
            return self._socket.accept()
        return await asyncio.get_running_loop().sock_accept(self._socket)

    async def _rest(self, error: OSError, *, resting: bool) -> bool:
        if not resting:
            self._logger.error(
                "out of file descriptors: not accepting connections until some close",
                listener=self.spec.name,
                cause=error.strerror,
                connections=self._admission.total,
            )
        await asyncio.sleep(self._admission.limits.accept_retry_ms / 1000)
        return True

    def _admit(self, accepted: socket.socket, address: tuple[Any, ...]) -> None:
        """Queue an accepted socket, or close it where its address has too many."""
        host = java_host_address(address)
        if not self._admission.enter(self.spec, host):
            accepted.close()
            self._logger.info(
                "rejected connection: too many connections from its address",
                listener=self.spec.name,
                host=host,
                maximum=self._admission.maximum_of(host),
            )
            return
        self._waiting[accepted] = host
        self._fair_queue.put(host, partial(self._take, accepted, address))

    def _take(self, accepted: socket.socket, address: tuple[Any, ...]) -> None:
        """Create the connection of an accepted socket."""
        host = self._waiting.pop(accepted, None)
        if host is None:
            # The listener has closed, and the socket.
            return
        tls = self._tls(self.spec)
        self._handshakes.release()
        try:
            accepted.setblocking(False)
            # As a broker does: answers must not wait for the peer's acknowledgement (Nagle's
            # algorithm).
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            channel = self._make(self.spec, accepted, address)
        except OSError as error:
            # The peer is gone already.
            accepted.close()
            self._admission.leave(self.spec, host)
            self._logger.debug("accepting failed", listener=self.spec.name, cause=str(error))
            return
        if tls is not None:
            self._handshakes.begin(tls, accepted, channel)
            return
        task = asyncio.get_running_loop().create_task(attach(channel, accepted))
        # Keep a reference: the event loop has only a weak one.
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)


async def attach(channel: Accepted, accepted: socket.socket) -> None:
    """Connect a channel to its transport."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: channel, accepted)
    except OSError as error:
        accepted.close()
        channel.connection_lost(error)
