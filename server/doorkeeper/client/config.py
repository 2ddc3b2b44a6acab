"""The configuration of a client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from ssl import SSLContext

    from doorkeeper.client.logins import Login

PORT_MAX = 65535


class Address(NamedTuple):
    """Host and port of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """The configuration of a client. Times are in milliseconds.

    ``bootstrap`` are addresses ``host:port``, separated by commas: of brokers or, with
    ``controllers``, of controllers. Without ``login`` a client is anonymous, without ``tls`` it
    uses plaintext. ``certificate_name`` is the subject of the certificate in ``tls``, in Java's
    form; empty without one.

    ``connect`` returns a connected socket in place of one to an address: that of a server in this
    process.

    ``request_timeout_ms`` bounds one response, ``timeout_ms`` a call with its
    retries; ``retry_ms`` is the first pause, which doubles up to ``retry_max_ms``. A ``patient``
    client waits for servers that are not up yet; otherwise its first call fails at once if no
    address answers. ``answer_bytes_max`` bounds one response: the default is more than any list of
    ACLs needs, and less than the first bytes of TLS or HTTP would mean as a size.
    """

    bootstrap: str
    controllers: bool = False
    login: Login | None = None
    tls: SSLContext | None = field(default=None, repr=False)
    certificate_name: str = ""
    connect: Callable[[], Awaitable[socket.socket]] | None = field(default=None, repr=False)
    client_id: str = "doorkeeper"
    patient: bool = False
    request_timeout_ms: int = 30_000
    timeout_ms: int = 60_000
    retry_ms: int = 100
    retry_max_ms: int = 1_000
    answer_bytes_max: int = 256 * 1024 * 1024

    def addresses(self) -> list[Address]:
        """Return the addresses of ``bootstrap``.

        Raises:
            ValueError: one is not ``host:port``.
        """
        return [address_of(text.strip()) for text in self.bootstrap.split(",") if text.strip()]


def address_of(text: str) -> Address:
    """Parse ``host:port`` or ``[host]:port``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= PORT_MAX:
        raise ValueError(f"found {text!r}; expected: host:port")
    return Address(host, int(port))
