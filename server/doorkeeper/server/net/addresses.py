"""Binding listeners, and addresses as Java writes them.

ACLs name hosts by the text of Java's ``InetAddress.getHostAddress``: IPv4 as four numbers, also
where the socket is an IPv6 one (``::ffff:10.0.0.7`` is ``10.0.0.7``); IPv6 as eight groups in
lower case without leading zeros and never shortened (``0:0:0:0:0:0:0:1``), followed by ``%`` and
the number of the interface where the address is local to one.
"""

from __future__ import annotations

import errno
import socket
from typing import Any, Final

MAPPED_PREFIX: Final = bytes(10) + b"\xff\xff"

REASONS: Final = {
    errno.EADDRINUSE: "the port is in use by another process",
    errno.EACCES: "permission denied (ports below 1024 require privileges)",
    errno.EADDRNOTAVAIL: "no such address on this machine",
}


class BindError(Exception):
    """A listener cannot be bound; the text has the address and the reason."""


def java_host_address(socket_address: tuple[Any, ...]) -> str:
    host = str(socket_address[0])
    if ":" not in host:
        return host
    packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    # A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d; ACLs name the plain IPv4 address.
    if packed.startswith(MAPPED_PREFIX):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    text = ":".join(f"{int.from_bytes(packed[at : at + 2]):x}" for at in range(0, 16, 2))
    scope = socket_address[3] if len(socket_address) > 3 else 0
    return f"{text}%{scope}" if scope else text


def connection_id(local: tuple[Any, ...], remote: tuple[Any, ...], number: int) -> str:
    """Return ``localHost:localPort-remoteHost:remotePort-processor-index``, as brokers log it."""
    return (
        f"{java_host_address(local)}:{local[1]}-{java_host_address(remote)}:{remote[1]}-0-{number}"
    )


def address_of(host: str) -> str:
    """Resolve a host name; of several addresses, IPv4 first, as Java chooses.

    Raises:
        BindError: the host is unknown.
    """
    try:
        return java_host_address(_resolve(host, 0)[1])
    except OSError as error:
        raise BindError(f"max.connections.per.ip.overrides: {host}: the host is unknown") from error


def bound_socket(name: str, host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet: connections to it are refused.

    ``localhost`` is 127.0.0.1 only, as in Java. An empty host binds every IPv4 and IPv6 address.

    Raises:
        BindError: the address is not available.
    """
    try:
        # Bound before the authorizer starts, so that port 0 is known when the node advertises
        # itself, and not listening, so that no client connects too early.
        family, address = _resolve(host, port)
        return _bind(family, address, dual_stack=not host)
    except OSError as error:
        raise bind_error(name, host, port, error) from None


def bind_error(name: str, host: str, port: int, error: OSError) -> BindError:
    if isinstance(error, socket.gaierror):
        reason = "the host is unknown"
    else:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
    shown = f"[{host}]" if ":" in host else host
    return BindError(f"listener {name}: cannot bind {shown}:{port}: {reason}")


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    if host == "localhost":
        return socket.AF_INET, ("127.0.0.1", port)
    if not host:
        if socket.has_dualstack_ipv6():
            return socket.AF_INET6, ("::", port)
        return socket.AF_INET, ("0.0.0.0", port)  # noqa: S104 - that is what an empty host says
    # A text would be looked at for letters of other languages, by modules that are 2 ms of a start.
    name = host.encode() if host.isascii() else host
    addresses = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # Java takes the first address of a host, and those of IPv4 first.
    addresses.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return addresses[0][0], addresses[0][4]


def _bind(
    family: socket.AddressFamily, address: tuple[Any, ...], *, dual_stack: bool
) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        # A restarted server takes its port while old connections are in TIME_WAIT. With port 0 the
        # option would allow a port that another socket uses.
        if address[1] != 0:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Explicit, because the default is a setting of the system.
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not dual_stack)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound
