"""All listeners and their connections: bind, open, drain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.connection.connection import Connection
from doorkeeper.connection.exchange import Counts, Peer
from doorkeeper.limits import SWEEP_INTERVAL_S_MAX
from doorkeeper.net.addresses import address_of, connection_id, java_host_address
from doorkeeper.net.admission import Admission
from doorkeeper.net.channel import Channel
from doorkeeper.net.chunked_responses import ChunkedResponses
from doorkeeper.net.context import PendingUpdates, ServerContext
from doorkeeper.net.fair_queue import FairQueue
from doorkeeper.net.ledger import Ledger
from doorkeeper.net.listener import Listener
from doorkeeper.net.options import ENCRYPTED, IN_CLEAR

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Mapping
    from ssl import SSLContext

    from doorkeeper.api.declaration import Api
    from doorkeeper.api.node import Node, Services
    from doorkeeper.authorizer.contract import Authorizer
    from doorkeeper.limits import Limits
    from doorkeeper.logger import Logger
    from doorkeeper.metrics.requests import RequestMeter
    from doorkeeper.net.context import Accepted, AuditLog
    from doorkeeper.net.options import ListenerSpec, Offers
    from doorkeeper.net.request_log import RequestLog


class Server:
    """The server's edge. Everything is called from the event loop's thread.

    ``bind`` reserves the ports; ``open`` lets clients in, listener by listener; ``drain`` ends it.
    """

    def __init__(  # noqa: PLR0913  the parts of a server meet here
        self,
        specs: Iterable[ListenerSpec],
        limits: Limits,
        node: Node,
        authorizer: Authorizer | None,
        services: Services,
        logger: Logger,
        *,
        apis: Callable[[int], Api | None],
        clock: Callable[[], float] | None = None,
        connect: Callable[..., Connection] = Connection,
        requests: RequestMeter | None = None,
        audit_log: AuditLog | None = None,
        request_log: RequestLog | None = None,
    ) -> None:
        """Prepare; ``apis`` is the registry's lookup, ``clock`` gives steady seconds.

        ``requests`` counts requests for metrics; ``audit_log`` records logins, and updates wait for
        it; ``request_log`` logs requests while it is on.

        ``connect`` makes the protocol's side of a connection: the class, or one derived from it.
        """
        self._specs = tuple(specs)
        self._limits = limits
        self._node = node
        if authorizer is not None and not isinstance(authorizer, GuardedAuthorizer):
            authorizer = GuardedAuthorizer(authorizer)
        self._authorizer: GuardedAuthorizer | None = authorizer
        self._services = services
        self._logger = logger
        self._apis = apis
        self._clock = clock
        self._connect = connect
        self._requests = requests
        self._audit_log = audit_log
        self._request_log = request_log
        self._offers = {spec.name: spec.offers for spec in self._specs}
        # What a listener began with goes when its last connection does: nobody else holds it.
        self._specs = tuple(spec.replace(offers=IN_CLEAR) for spec in self._specs)
        self._listeners: dict[str, Listener] = {}
        self._channels: dict[Channel, ListenerSpec] = {}
        self._number = 0
        self._empty = asyncio.Event()
        self._admission = Admission(limits)
        self._context: ServerContext | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self.counts = Counts(answers=requests is not None)

    async def bind(self) -> None:
        """Reserve every listener's port; connecting is refused until ``open``.

        Raises:
            BindError: an address cannot be had, or a host in the limits is unknown; nothing stays
                bound.

        """
        loop = asyncio.get_running_loop()
        self._admission.overrides = resolved_overrides(self._limits)
        self._context = ServerContext(
            loop,
            self._clock or loop.time,
            self._limits,
            self._authorizer,
            self._services,
            self._logger,
            Ledger(self._limits.queued_in_bytes_max),
            Ledger(self._limits.queued_out_bytes_max),
            PendingUpdates(),
            self._lost,
            FairQueue(loop, self._limits.strangers_percent / 100),
            ChunkedResponses(loop),
            self._requests,
            self._audit_log,
            self._request_log,
        )
        try:
            for spec in self._specs:
                self._listeners[spec.name] = Listener(
                    spec,
                    admission=self._admission,
                    make=self._channel,
                    tls=self._tls,
                    fair_queue=self._context.fair_queue,
                    logger=self._logger,
                )
        except BaseException:
            for listener in self._listeners.values():
                await listener.close()
            self._listeners.clear()
            raise
        self._sweep()

    def bound_port(self, listener_name: str) -> int:
        """Return the port that a listener has; known after ``bind``."""
        return self._listeners[listener_name].port

    async def open(self, listener_name: str) -> None:
        """Let clients in on a listener.

        Raises:
            BindError: another process listens on its address by now.

        """
        self._listeners[listener_name].open()

    def use_offers(self, listener_name: str, offers: Offers) -> None:
        """Let the listener's next connections prove who they are in this way."""
        self._offers[listener_name] = offers

    def use_admission(
        self, limits: Limits, overrides: Mapping[str, int], of_listeners: Mapping[str, int]
    ) -> None:
        """Let connections in by these bounds from now on.

        ``overrides`` are the limits' own as ``resolved_overrides`` gives them.
        """
        self._admission.use(limits, overrides, of_listeners)

    @property
    def connections(self) -> int:
        """Return how many connections there are."""
        return self._admission.total

    def connections_on(self, listener_name: str) -> int:
        """Return how many connections a listener has."""
        return self._admission.on_listener(listener_name)

    def accepted_on(self, listener_name: str) -> int:
        """Return how many connections a listener has let in."""
        return self._admission.accepted[listener_name]

    def handshakes_on(self, listener_name: str) -> tuple[int, int]:
        """Return how many TLS handshakes of a listener have succeeded, and how many have failed."""
        return self._listeners[listener_name].handshakes

    @property
    def listener_names(self) -> list[str]:
        """Return the listeners that are bound."""
        return list(self._listeners)

    @property
    def encrypted_listener_names(self) -> list[str]:
        """Return those of them that speak TLS."""
        return [
            spec.name
            for spec in self._specs
            if spec.security_protocol in ENCRYPTED and spec.name in self._listeners
        ]

    @property
    def is_open(self) -> bool:
        """Say whether every listener lets clients in."""
        return bool(self._listeners) and all(each.is_open for each in self._listeners.values())

    @property
    def are_keys_loaded(self) -> bool:
        """Say whether every listener that speaks TLS has a certificate to show."""
        return all(
            self._offers[spec.name].tls is not None
            for spec in self._specs
            if spec.security_protocol in ENCRYPTED
        )

    def waiting(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the updates that wait, and their items, by operation."""
        if self._context is None:
            return {}, {}
        return self._context.updates.updates, self._context.updates.items

    @property
    def updates_under_way(self) -> int:
        """Return how many updates the authorizer or the topics have not completed."""
        return len(self._context.updates) if self._context else 0

    @property
    def bytes_incoming(self) -> int:
        """Return how many bytes are received and not yet answered."""
        return self._context.incoming.total if self._context else 0

    @property
    def bytes_outgoing(self) -> int:
        """Return how many bytes of answers peers have not taken."""
        return self._context.outgoing.total if self._context else 0

    async def drain(self, timeout_s: float) -> int:
        """Accept no more, answer what was received, wait for updates, close everything.

        Returns how many connections had to be cut off after the time.
        """
        for listener in self._listeners.values():
            await listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        # Two turns of the loop read what the kernel has already received.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for channel in list(self._channels):
            channel.drain()
        try:
            async with asyncio.timeout(timeout_s):
                await self._all_done()
        except TimeoutError:
            pass
        left = list(self._channels)
        for channel in left:
            channel.abort("connection cut off: the server stops")
        if left:
            await asyncio.sleep(0)
        return len(left)

    async def _all_done(self) -> None:
        while self._channels:
            self._empty.clear()
            await self._empty.wait()
        assert self._context is not None
        await self._context.updates.wait_for_none()

    def _channel(
        self, spec: ListenerSpec, accepted: socket.socket, address: tuple[Any, ...]
    ) -> Channel:
        """Make the two sides of a connection."""
        assert self._context is not None, "bound before anything is accepted"
        number, self._number = self._number, (self._number + 1) & 0x7FFF_FFFF
        peer = Peer(
            connection_id(accepted.getsockname(), address, 0, number),
            java_host_address(address),
            spec.name,
            spec.security_protocol,
            controller=spec.controller,
            number=number,
        )
        offers = self._offers[spec.name]
        connection = self._connect(
            peer,
            node=self._node,
            apis=self._apis,
            mechanisms=offers.mechanisms,
            builder=offers.builder,
            limits=self._limits,
            counts=self.counts,
        )
        channel = Channel(connection, self._context)
        self._channels[channel] = spec
        self._logger.debug("connection accepted", connection=peer.connection_id)
        return channel

    def _tls(self, spec: ListenerSpec) -> SSLContext | None:
        """Return what the listener's next connection is encrypted with."""
        return self._offers[spec.name].tls

    def _lost(self, channel: Accepted) -> None:
        channel = cast("Channel", channel)
        self._admission.leave(self._channels.pop(channel), channel.connection.peer.host)
        if not self._channels:
            self._empty.set()

    def _sweep(self) -> None:
        """Close what has been idle for too long; come back."""
        assert self._context is not None
        idle_s = self._limits.idle_ms / 1000
        deadline_s = self._context.clock() - idle_s
        for channel in [one for one in self._channels if one.idle_since(deadline_s)]:
            channel.abort("connection closed: idle for too long")
        interval_s = min(idle_s / self._limits.sweeps_per_idle_time, SWEEP_INTERVAL_S_MAX)
        self._sweeper = self._context.loop.call_later(interval_s, self._sweep)


def resolved_overrides(limits: Limits) -> dict[str, int]:
    """Return how many connections single addresses may have, by the text of the address.

    Raises:
        BindError: a host is unknown.

    """
    return {address_of(host): most for host, most in limits.connections_per_ip_overrides.items()}
