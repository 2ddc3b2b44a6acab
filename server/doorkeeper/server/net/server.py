"""The listeners of a server and their connections: bind, open, drain."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from doorkeeper.acls.model import Principal
from doorkeeper.server.api.node import Node, Services
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.net.addresses import address_of, connection_id, java_host_address
from doorkeeper.server.net.admission import Admission
from doorkeeper.server.net.channel import Channel
from doorkeeper.server.net.context import Accepted, AuditLog, Ledger, ServerContext, UpdatesInFlight
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.large_requests import LargeRequests
from doorkeeper.server.net.limits import SWEEP_INTERVAL_S_MAX, Limits
from doorkeeper.server.net.listener import Listener, attach
from doorkeeper.server.net.options import (
    ENCRYPTED,
    UNAUTHENTICATED,
    ConnectionSecurity,
    ListenerSpec,
)
from doorkeeper.server.net.peer_log import PeerLog
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Counts, Peer
from doorkeeper.server.net.request_log import RequestLogger
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import RequestMeter
from doorkeeper.server.runtime.request_context import OPERATOR
from doorkeeper.server.security.contract import AuthenticationContext

if TYPE_CHECKING:
    from doorkeeper.server.api.registry import ApiTable

OPERATOR_LISTENER: Final = ""
"""The listener name of connections inside the process: no configuration can give it."""


class Operator:
    """Builds the principal of a connection inside the process."""

    def build(self, context: AuthenticationContext) -> Principal:
        del context
        return OPERATOR


class Server:
    """Listeners and connections. Not thread-safe: all calls are made in the event loop.

    ``bind`` reserves the ports, ``open`` of a listener starts to accept, ``drain`` ends both.
    """

    def __init__(  # noqa: PLR0913  the parts of a server meet here
        self,
        specs: Iterable[ListenerSpec],
        limits: Limits,
        node: Node,
        authorizer: GuardedAuthorizer | None,
        services: Services,
        logger: Logger,
        *,
        apis: ApiTable,
        disconnected: Callable[[int], None] | None = None,
        clock: Callable[[], float] | None = None,
        connect: Callable[..., Connection] = Connection,
        requests: RequestMeter | None = None,
        audit_log: AuditLog | None = None,
        request_log: RequestLogger | None = None,
    ) -> None:
        """``apis`` are those that are served, ``clock`` a monotonic one in seconds.

        ``requests`` counts requests for metrics; updates wait for ``audit_log``, which also records
        logins; ``request_log`` may be switched on at run time. ``connect`` constructs the protocol
        side of a connection: the class ``Connection`` or a subclass. ``disconnected`` is called
        with the number of each connection that has ended.
        """
        loop = asyncio.get_running_loop()
        self.context = ServerContext(
            loop,
            clock or loop.time,
            limits,
            authorizer,
            services,
            logger,
            PeerLog(logger, loop),
            Ledger(limits.queued_in_bytes_max, "requests that are not yet answered", logger),
            Ledger(limits.queued_out_bytes_max, "responses that clients do not read", logger),
            UpdatesInFlight(),
            self._forget,
            FairQueue(loop, limits.unauthenticated_percent / 100),
            asyncio.Lock(),
            LargeRequests(loop),
            requests,
            audit_log,
            request_log,
        )
        """What all connections share."""
        self._node = node
        self._apis = apis
        self._disconnected = disconnected
        self._connect = connect
        specs = tuple(specs)
        self._security = {spec.name: spec.security for spec in specs}
        # The initial security must be freed with the last connection that uses it.
        self._specs = tuple(replace(spec, security=UNAUTHENTICATED) for spec in specs)
        self.listeners: dict[str, Listener] = {}
        """By name, once they are bound."""
        self._channels: dict[Channel, ListenerSpec] = {}
        self._number = 0
        self._empty = asyncio.Event()
        self.admission = Admission(limits)
        self._sweeper: asyncio.TimerHandle | None = None
        self.counts = Counts(answers=requests is not None)

    async def bind(self) -> None:
        """Reserve every listener's port; connections are refused until ``open``.

        Raises:
            BindError: an address is not available, or a host in the limits is unknown; nothing
                stays bound.
        """
        self.admission.overrides = resolved_overrides(self.context.limits)
        try:
            for spec in self._specs:
                self.listeners[spec.name] = Listener(
                    spec,
                    admission=self.admission,
                    make=self._channel,
                    tls=self._tls,
                    fair_queue=self.context.fair_queue,
                    logger=self.context.logger,
                )
        except BaseException:
            for listener in self.listeners.values():
                await listener.close()
            self.listeners.clear()
            raise
        self._sweep()

    def use_security(self, listener_name: str, security: ConnectionSecurity) -> None:
        """Replace the security of a listener, for new connections."""
        self._security[listener_name] = security

    @property
    def encrypted_listener_names(self) -> list[str]:
        """Return the names of bound listeners with TLS."""
        return [
            spec.name
            for spec in self._specs
            if spec.security_protocol in ENCRYPTED and spec.name in self.listeners
        ]

    @property
    def is_open(self) -> bool:
        """Return whether every listener accepts connections."""
        return bool(self.listeners) and all(
            listener.is_open for listener in self.listeners.values()
        )

    @property
    def are_keys_loaded(self) -> bool:
        """Return whether every listener with TLS has a certificate."""
        return all(
            self._security[spec.name].tls is not None
            for spec in self._specs
            if spec.security_protocol in ENCRYPTED
        )

    async def drain(self, timeout_s: float) -> int:
        """Stop accepting, answer received requests, wait for updates, close all connections.

        Return the number of connections that were cut off after the time-out.
        """
        for listener in self.listeners.values():
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
                while self._channels:
                    self._empty.clear()
                    await self._empty.wait()
                await self.context.updates.wait_for_none()
        # Updates that are still running keep their tasks; only their connections are cut off.
        except TimeoutError:
            pass
        self.context.peer_log.close()
        self.context.large_requests.close()
        left = list(self._channels)
        for channel in left:
            channel.abort("connection cut off: the server stops")
        # Let the loop call ``connection_lost`` of the aborted connections.
        if left:
            await asyncio.sleep(0)
        return len(left)

    def _channel(
        self, spec: ListenerSpec, accepted: socket.socket, address: tuple[Any, ...]
    ) -> Channel:
        """Create both sides of a connection."""
        # As in a broker, the number wraps at 2**31 and stays positive.
        number, self._number = self._number, (self._number + 1) & 0x7FFF_FFFF
        peer = Peer(
            connection_id(accepted.getsockname(), address, number),
            java_host_address(address),
            spec.name,
            spec.security_protocol,
            controller=spec.controller,
            number=number,
        )
        security = self._security[spec.name]
        channel = self._connected(self._connect, peer, self._node, spec, security)
        self.context.logger.debug("connection accepted", connection=peer.connection_id)
        return channel

    def _connected(
        self,
        connect: Callable[..., Connection],
        peer: Peer,
        node: Node,
        spec: ListenerSpec,
        security: ConnectionSecurity,
    ) -> Channel:
        connection = connect(
            peer,
            node=node,
            apis=self._apis,
            mechanisms=security.mechanisms,
            builder=security.builder,
            limits=self.context.limits,
            counts=self.counts,
        )
        channel = Channel(connection, self.context)
        self._channels[channel] = spec
        return channel

    async def connect_operator(self, node: Node) -> socket.socket:
        """Return the client's end of a connection inside the process, which has no address.

        The peer is the operator, and ``node`` what it sees.
        """
        client, accepted = socket.socketpair()
        client.setblocking(False)
        accepted.setblocking(False)
        spec = ListenerSpec(name=OPERATOR_LISTENER, security_protocol="PLAINTEXT", host="", port=0)
        peer = Peer("operator", "", spec.name, spec.security_protocol)
        # The limit of connections from one address is for clients.
        self.admission.enter(spec, peer.host)
        security = ConnectionSecurity(None, Operator())
        await attach(self._connected(Connection, peer, node, spec, security), accepted)
        return client

    def _tls(self, spec: ListenerSpec) -> SSLContext | None:
        return self._security[spec.name].tls

    def _forget(self, channel: Accepted) -> None:
        channel = cast("Channel", channel)
        peer = channel.connection.peer
        self.admission.leave(self._channels.pop(channel), peer.host)
        if self._disconnected is not None:
            self._disconnected(peer.number)
        if not self._channels:
            self._empty.set()

    def _sweep(self) -> None:
        """Close idle connections, unless that is off; schedule the next sweep."""
        idle_s = self.context.limits.idle_ms / 1000
        if idle_s < 0:
            return
        deadline_s = self.context.clock() - idle_s
        for channel in [one for one in self._channels if one.idle_since(deadline_s)]:
            channel.abort("connection closed: idle for too long")
        interval_s = min(idle_s / self.context.limits.sweeps_per_idle_time, SWEEP_INTERVAL_S_MAX)
        self._sweeper = self.context.loop.call_later(interval_s, self._sweep)


def resolved_overrides(limits: Limits) -> dict[str, int]:
    """Return the limits of single addresses, by the text of the address.

    Raises:
        BindError: a host is unknown.
    """
    return {address_of(host): most for host, most in limits.connections_per_ip_overrides.items()}
