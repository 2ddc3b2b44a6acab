"""Where a client connects to, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ssl import SSLContext

    from doorkeeper.client.logins import Login

PORT_MAX = 65535


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What a client needs to know. Times are in milliseconds.

    ``bootstrap`` are addresses ``host:port``, separated by commas: those of brokers or, with
    ``controllers``, of controllers. Without ``login`` a client is anonymous, without ``tls`` it
    speaks in clear. ``request_timeout_ms`` is for one answer, ``timeout_ms`` for a whole call with
    all that is tried again in it, ``retry_ms`` the first pause, which doubles up to
    ``retry_max_ms``. A ``patient`` client waits for servers that are not there yet; else its first
    call fails at once where no address answers. ``answer_bytes_max`` bounds what one answer may
    hold: by default more than any list of ACLs needs, and less than the first bytes of TLS or HTTP
    would mean as a size.
    """

    bootstrap: str
    controllers: bool = False
    login: Login | None = None
    tls: SSLContext | None = field(default=None, repr=False)
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
            ValueError: one is no ``host:port``.

        """
        return [address_of(text.strip()) for text in self.bootstrap.split(",") if text.strip()]


def address_of(text: str) -> Address:
    """Return the address that a text ``host:port`` or ``[host]:port`` means.

    Raises:
        ValueError: it means none.

    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= PORT_MAX:
        raise ValueError(f"found {text!r}; an address is host:port")
    return Address(host, int(port))
