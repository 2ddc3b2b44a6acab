"""Tells the service manager how far the process is: systemd's protocol, ``sd_notify``.

One datagram for each change, to the socket that ``NOTIFY_SOCKET`` names. Without the variable, and
where the socket cannot be reached, nothing happens: the server does not depend on it.

Source: ``sd_notify(3)``.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final

ADDRESS: Final = "NOTIFY_SOCKET"
"""The environment variable that has the address of the socket; ``@`` begins an abstract one."""

READY: Final = "READY=1"
"""Clients are served: after the start and after a reload."""

STOPPING: Final = "STOPPING=1"
"""The end has begun."""

_NS_PER_US: Final = 1_000


def reloading(monotonic_ns: int) -> str:
    """Return the state while the configuration is read again; ``READY`` must follow."""
    return f"RELOADING=1\nMONOTONIC_USEC={monotonic_ns // _NS_PER_US}"


def notify(address: str | None, state: str) -> None:
    """Send a state to the value of ``NOTIFY_SOCKET``; None where it is not set."""
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    # A full buffer of the manager must not hold up clients, nor a wrong address a start.
    flags = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    with suppress(OSError), socket.socket(socket.AF_UNIX, flags) as sending:
        sending.sendto(state.encode(), address)
