"""Accepting connections on one address, by a loop of our own.

``loop.create_server`` accepts as fast as it can, and cannot change its mind. This loop waits for
room before it accepts, lets only so many in from one address, rests when the process has no
descriptor left, and takes the TLS context of the moment for each connection. TLS handshakes go on
beside it.

What is accepted waits in the fair queue of unauthenticated connections: here, and not in the
kernel's backlog, which is short: a peer that finds it full comes again only after a second.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.net.addresses import bind_error, bound_socket, java_host_address
from doorkeeper.net.handshakes import Handshakes

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from doorkeeper.logger import Logger
    from doorkeeper.net.admission import Admission
    from doorkeeper.net.context import Accepted
    from doorkeeper.net.fair_queue import FairQueue
    from doorkeeper.net.options import ListenerSpec

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What ``accept`` says when this process, or the machine, can take no more."""


class Listener:
    """One bound address."""

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
        """Bind; nobody can connect yet.

        Raises:
            BindError: the address cannot be had.

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
        """Listen, and accept from now on.

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
        """Return how many TLS handshakes have succeeded, and how many have failed."""
        return self._handshakes.succeeded, self._handshakes.failed

    @property
    def is_open(self) -> bool:
        """Say whether clients are let in."""
        return self._accepting is not None and not self._accepting.done()

    async def close(self) -> None:
        """Accept no more, end the handshakes under way, and free the address."""
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
            await self._admission.room(self.spec)
            await self._handshakes.room()
            try:
                accepted, address = await self._take_one()
            except OSError as error:
                if error.errno in OUT_OF_DESCRIPTORS:
                    resting = await self._rest(error, resting=resting)
                continue
            if resting:
                resting = False
                self._logger.info("accepting again", listener=self.spec.name)
            self._admit(accepted, address)

    async def _take_one(self) -> tuple[socket.socket, tuple[Any, ...]]:
        """Accept: one a turn of the loop, however many there are."""
        await asyncio.sleep(0)
        with suppress(BlockingIOError):
            return self._socket.accept()
        return await asyncio.get_running_loop().sock_accept(self._socket)

    async def _rest(self, error: OSError, *, resting: bool) -> bool:
        if not resting:
            self._logger.error(
                "no descriptors left: accepting pauses until connections close",
                listener=self.spec.name,
                cause=error.strerror,
                connections=self._admission.total,
            )
        await asyncio.sleep(self._admission.limits.accept_retry_ms / 1000)
        return True

    def _admit(self, accepted: socket.socket, address: tuple[Any, ...]) -> None:
        """Let an accepted socket wait until a connection is made of it, or close it."""
        host = java_host_address(address)
        if not self._admission.enter(self.spec, host):
            accepted.close()
            self._logger.info(
                "rejected connection: its address has the configured maximum already",
                listener=self.spec.name,
                host=host,
                maximum=self._admission.most_from(host),
            )
            return
        self._waiting[accepted] = host
        self._handshakes.expect(self._tls(self.spec))
        self._fair_queue.put(host, partial(self._take, accepted, address))

    def _take(self, accepted: socket.socket, address: tuple[Any, ...]) -> None:
        """Make a connection of an accepted socket."""
        host = self._waiting.pop(accepted, None)
        if host is None:
            # The listener has closed, and the socket.
            return
        tls = self._tls(self.spec)
        self._handshakes.expected_came(tls)
        try:
            accepted.setblocking(False)
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
        task = asyncio.get_running_loop().create_task(connected(channel, accepted))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)


async def connected(channel: Accepted, accepted: socket.socket) -> None:
    """Give a connection its transport."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: channel, accepted)
    except OSError as error:
        accepted.close()
        channel.connection_lost(error)
