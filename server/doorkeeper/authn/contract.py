"""What a SASL mechanism is to a session: something that takes tokens and, in the end, decides.

A session makes one ``Mechanism`` for each authentication and feeds it the client's tokens in
order. A ``Challenge`` asks for another token; ``Success`` and ``Failure`` end the exchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acl.model import Principal


class Challenge(NamedTuple):
    """The exchange goes on: the client gets this token and answers it."""

    token: bytes


class Success(NamedTuple):
    """The client is who it says. ``token`` is the last one that it gets, often empty.

    ``lifetime_ms`` is how long the credential itself is still good; None for no limit.
    """

    principal: Principal
    token: bytes = b""
    lifetime_ms: int | None = None


class Failure(NamedTuple):
    """The client is refused.

    ``text`` goes to the client; None gives it the general text of Kafka, which does not say what
    was wrong. ``reason`` is for our log only, and never holds a secret.
    """

    text: str | None
    reason: str


Step = Challenge | Success | Failure


class Mechanism(Protocol):
    """One authentication under way."""

    def step(self, token: bytes) -> Step:
        """Take the client's next token. Never raises on what it contains."""
        ...


class OfferedMechanism(NamedTuple):
    """A mechanism as a listener offers it.

    ``max_reauth_ms`` bounds each session (``connections.max.reauth.ms``); 0 sets no bound.
    """

    name: str
    begin: Callable[[], Mechanism]
    max_reauth_ms: int = 0
