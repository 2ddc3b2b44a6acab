"""Tells the service manager how far the process is: systemd's protocol, ``sd_notify``.

One datagram for each change, to the socket that ``NOTIFY_SOCKET`` names. Without the variable, and
where the socket cannot be reached, nothing happens: the server does not depend on it.

Source: ``sd_notify(3)``.
"""

from __future__ import annotations

import socket
from contextlib import suppress

ADDRESS = "NOTIFY_SOCKET"
"""The environment variable that has the address of the socket; ``@`` begins an abstract one."""

_NS_PER_US = 1_000


class ServiceManager:
    """The manager that has started this process, or none."""

    def __init__(self, address: str | None) -> None:
        """Take the value of ``NOTIFY_SOCKET``; None where it is not set."""
        self._address = address or ""
        if self._address.startswith("@"):
            self._address = f"\0{self._address[1:]}"

    def ready(self) -> None:
        """Tell that clients are served, after the start and after a reload."""
        self._send("READY=1")

    def reloading(self, monotonic_ns: int) -> None:
        """Tell that the configuration is read again; ``ready`` must follow."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={monotonic_ns // _NS_PER_US}")

    def stopping(self) -> None:
        """Tell that the end has begun."""
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        # A full buffer of the manager must not hold up clients, nor a wrong address a start.
        flags = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        with suppress(OSError), socket.socket(socket.AF_UNIX, flags) as sending:
            sending.sendto(state.encode(), self._address)
