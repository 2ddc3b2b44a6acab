"""How a listener is configured: its address, its protocol, and how clients authenticate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.authn.principals import DefaultPrincipalBuilder
from doorkeeper.limits import UNLIMITED
from doorkeeper.value import Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ssl import SSLContext

    from doorkeeper.authn.contract import OfferedMechanism, PrincipalBuilder


class Offers(NamedTuple):
    """How the next connections of a listener authenticate.

    ``mechanisms`` are by name, in the order in which clients are told; None without SASL.
    ``tls`` is None where connections are in clear.
    """

    mechanisms: Mapping[str, OfferedMechanism] | None
    builder: PrincipalBuilder
    tls: SSLContext | None = None


ENCRYPTED: Final = frozenset({"SSL", "SASL_SSL"})
"""The protocols that begin with a TLS handshake."""

IN_CLEAR = Offers(None, DefaultPrincipalBuilder())
"""No authentication: every client is ANONYMOUS."""


class ListenerSpec(Value):
    """One listener, as the configuration describes it.

    ``host`` may be empty: every address of the machine. Port 0 takes a free one. ``controller``
    says that the listener is named in ``controller.listener.names``. ``offers`` are what it begins
    with.
    """

    name: str
    security_protocol: str
    host: str
    port: int
    controller: bool = False
    offers: Offers = hidden(default=IN_CLEAR)
    max_connections: int = UNLIMITED
