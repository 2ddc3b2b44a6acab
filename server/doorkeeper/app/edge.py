"""The server's edge as the settings describe it: its limits and its listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.limits import Limits
from doorkeeper.net.options import ListenerSpec

if TYPE_CHECKING:
    from doorkeeper.config.listeners import Listener
    from doorkeeper.config.settings import Settings
    from doorkeeper.net.options import Offers


def limits_of(settings: Settings) -> Limits:
    """Return the bounds."""
    return Limits(
        frame_bytes_max=settings.socket_request_max_bytes,
        sasl_frame_bytes_max=settings.sasl_server_max_receive_size,
        connections_max=settings.max_connections,
        connections_per_ip_max=settings.max_connections_per_ip,
        connections_per_ip_overrides=settings.max_connections_per_ip_overrides,
        idle_ms=settings.connections_max_idle_ms,
        failed_authentication_delay_ms=settings.connection_failed_authentication_delay_ms,
        backlog=settings.socket_listen_backlog_size,
        update_timeout_ms=settings.update_timeout_ms,
        updates_waiting_max=settings.update_waiting_max,
    )


def spec_of(listener: Listener, offers: Offers) -> ListenerSpec:
    """Return what the edge knows of a listener."""
    return ListenerSpec(
        name=listener.name,
        security_protocol=listener.security_protocol,
        host=listener.host,
        port=listener.port,
        controller=listener.controller,
        offers=offers,
        max_connections=listener.max_connections,
    )
