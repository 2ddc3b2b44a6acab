"""The contract between a session and a SASL mechanism.

A session creates one ``Mechanism`` for each authentication and passes it the client's tokens in
order. A ``Challenge`` asks for another token; ``Success`` and ``Failure`` end the exchange. The
listener's ``PrincipalBuilder`` turns the result into a principal.

Source: ``SaslServer`` of Java; Kafka's ``AuthenticationContext`` and ``KafkaPrincipalBuilder``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from doorkeeper.acls.model import Principal


class AuthenticationContext(NamedTuple):
    """The proved identity of a connection, from which its principal is built.

    ``client_address`` is the text of Java's ``InetAddress.getHostAddress``. ``peer_certificates``
    are verified, in DER, the client's own first; empty without a certificate. ``sasl_mechanism``
    and ``authorization_id`` are None before, and without, SASL. The id is the one that the
    mechanism proved: a user name, the owner of a delegation token, the principal claim of a token,
    the full name ``alice/host@REALM`` of Kerberos. ``claims`` are those of an OAUTHBEARER token.
    """

    listener_name: str
    security_protocol: str
    client_address: str
    peer_certificates: tuple[bytes, ...] = ()
    sasl_mechanism: str | None = None
    authorization_id: str | None = None
    claims: Mapping[str, object] = {}


@runtime_checkable
class PrincipalBuilder(Protocol):
    """Builds the principal of a connection."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Return the principal. An exception closes the connection."""
        ...


class Challenge(NamedTuple):
    """A token for the client, which must answer it.

    ``refusal`` is the reason if the login has failed, and the client only acknowledges it.
    """

    token: bytes
    refusal: str = ""


class Success(Struct, frozen=True):
    """The client is authenticated.

    ``authorization_id`` and ``claims`` are those of ``AuthenticationContext``. ``token`` is the
    last one that the client gets, often empty. ``lifetime_ms`` is the remaining lifetime of the
    credential itself, None for no limit. With ``token_authenticated`` a delegation token was used,
    and any principal but ``token_owner`` is refused.
    """

    authorization_id: str
    token: bytes = b""
    lifetime_ms: int | None = None
    token_authenticated: bool = False
    claims: Mapping[str, object] = {}
    token_owner: Principal | None = None


class Failure(Struct, frozen=True):
    """The client is refused.

    ``text`` goes to the client; None sends Kafka's general text, which does not say the cause.
    ``reason`` is for the server's log only, and never holds a secret. ``answered`` is false where
    the client gets no response at all, so that it retries.
    """

    text: str | None
    reason: str
    answered: bool = True


Step = Challenge | Success | Failure


class Mechanism(Protocol):
    """One authentication in progress."""

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Process the client's next token. Never raises because of its content.

        An awaitable holds the connection: nothing is read from it until the step completes. If the
        awaitable raises, the client is refused with the general text.
        """
        ...


class OfferedMechanism(Struct, frozen=True):
    """A mechanism as a listener offers it.

    ``max_reauth_ms`` bounds each session (``connections.max.reauth.ms``); 0 sets no bound.
    """

    name: str
    begin: Callable[[AuthenticationContext], Mechanism]
    max_reauth_ms: int = 0
