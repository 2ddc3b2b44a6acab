"""What a SASL mechanism is to a session: something that takes tokens and, in the end, decides.

A session makes one ``Mechanism`` for each authentication and feeds it the client's tokens in
order. A ``Challenge`` asks for another token; ``Success`` and ``Failure`` end the exchange. What
a connection has proved becomes a principal by its listener's ``PrincipalBuilder``.

Source: ``SaslServer`` of Java; Kafka's ``AuthenticationContext`` and ``KafkaPrincipalBuilder``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.acl.model import Principal


class AuthenticationContext(NamedTuple):
    """What a connection has proved, and how: what its principal is made from.

    ``client_address`` is the text of Java's ``InetAddress.getHostAddress``.
    ``peer_certificates`` are verified, in DER, the client's own first; without one, none.
    ``sasl_mechanism`` and ``authorization_id`` are None before, and without, SASL. The id is what
    the mechanism proved: the name of a user, of a token's owner, the principal claim of a token,
    the full name ``alice/host@REALM`` of Kerberos. ``claims`` are those of an OAUTHBEARER token.
    """

    listener_name: str
    security_protocol: str
    client_address: str
    peer_certificates: tuple[bytes, ...] = ()
    sasl_mechanism: str | None = None
    authorization_id: str | None = None
    claims: Mapping[str, object] = {}


class PrincipalBuilder(Protocol):
    """Makes principals."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Return who this is. Whatever it raises closes the connection."""
        ...


class Challenge(NamedTuple):
    """The exchange goes on: the client gets this token and answers it."""

    token: bytes


class Success(NamedTuple):
    """The client is who it says.

    ``authorization_id`` and ``claims`` are those of ``AuthenticationContext``. ``token`` is the
    last one that the client gets, often empty. ``lifetime_ms`` is how long the credential itself
    is still good; None for no limit. ``token_authenticated`` says that a delegation token did it,
    and ``token_owner`` whose it is: nobody else comes of it.
    """

    authorization_id: str
    token: bytes = b""
    lifetime_ms: int | None = None
    token_authenticated: bool = False
    claims: Mapping[str, object] = {}
    token_owner: Principal | None = None


class Failure(NamedTuple):
    """The client is refused.

    ``text`` goes to the client; None gives it the general text of Kafka, which does not say what
    was wrong. ``reason`` is for our log only, and never holds a secret. ``answered`` is false
    where the client gets no answer at all, so that it tries again.
    """

    text: str | None
    reason: str
    answered: bool = True


Step = Challenge | Success | Failure


class Mechanism(Protocol):
    """One authentication under way."""

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Take the client's next token. Never raises on what it contains.

        An awaitable holds the connection: nothing is read from it until the step is known. One
        that raises refuses the client with the general text.
        """
        ...


class OfferedMechanism(NamedTuple):
    """A mechanism as a listener offers it.

    ``max_reauth_ms`` bounds each session (``connections.max.reauth.ms``); 0 sets no bound.
    """

    name: str
    begin: Callable[[AuthenticationContext], Mechanism]
    max_reauth_ms: int = 0
