"""A listener of HTTP, whose peers need no login to connect.

Silent peers must not block others: at the limit the peer with most connections loses its oldest.
TLS handshakes make room by themselves; see ``Handshakes.wait_for_room``.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_network
from ssl import SSLContext
from typing import Any

from doorkeeper.server.net.addresses import connection_id, java_host_address
from doorkeeper.server.net.admission import Admission
from doorkeeper.server.net.context import Accepted
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.listener import Listener
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper.server.runtime.logger import Logger

Make = Callable[[str, Callable[[Accepted], None]], Accepted]
"""Returns a connection for its id; it calls the function when it is lost."""


class HttpListener(Listener):
    """A bound address with its connections, which stay when it is closed."""

    def __init__(
        self,
        spec: ListenerSpec,
        limits: Limits,
        make: Make,
        *,
        tls: Callable[[], SSLContext] | None,
        logger: Logger,
    ) -> None:
        """Bind; ``tls`` returns the context of the next connection.

        Raises:
            BindError: the address is not available.
        """
        self._new = make
        self._hosts: dict[Accepted, str] = {}
        super().__init__(
            spec,
            admission=Admission(limits),
            make=self._connection,
            tls=lambda _: None if tls is None else tls(),
            # A queue of its own: clients of Kafka and of this port do not wait for each other.
            fair_queue=FairQueue(asyncio.get_running_loop(), share=1.0),
            logger=logger,
        )

    @property
    def connections(self) -> int:
        return len(self._hosts)

    def abort(self, reason: str) -> None:
        """Close all connections without an answer."""
        for connection in list(self._hosts):
            connection.abort(reason)

    def _connection(
        self, spec: ListenerSpec, accepted: socket.socket, address: tuple[Any, ...]
    ) -> Accepted:
        def lost(connection: Accepted) -> None:
            self._admission.leave(spec, self._hosts.pop(connection))

        number = self._admission.accepted[spec.name]
        connection = self._new(connection_id(accepted.getsockname(), address, number), lost)
        self._hosts[connection] = java_host_address(address)
        # At the limit accepting would stop, and silent peers would keep others out.
        if self._admission.total >= self._admission.limits.connections_max:
            self._make_room()
        return connection

    def _make_room(self) -> None:
        open_by_peer: dict[str, list[Accepted]] = {}
        for connection, host in self._hosts.items():
            if connection.is_connected:
                open_by_peer.setdefault(network_of(host), []).append(connection)
        if open_by_peer:
            max(open_by_peer.values(), key=len)[0].abort("others wait")


def network_of(host: str) -> str:
    """Return an address; of IPv6 its /64 network, all of which a peer may have."""
    try:
        network = ip_network((host.partition("%")[0], 64 if ":" in host else 32), strict=False)
    except ValueError:
        return host
    return str(network) if ":" in host else host
