"""The contract of callback handlers: classes of others that know passwords, credentials, tokens.

``sasl.server.callback.handler.class`` names one; ``docs/authentication-contract.md`` says how.

    PlainPasswords      checks a name and a password         PLAIN
    ScramCredentials    supplies a user's credential         SCRAM-SHA-256, SCRAM-SHA-512
    TokenValidator      reads a token                        OAUTHBEARER

A handler may be several of them. Everything is called on the event loop: what waits is awaited,
and what blocks goes to a thread (``asyncio.to_thread``). What raises, takes too long or answers
with something else lets nobody in.

Source: ``AuthenticateCallbackHandler`` and the callbacks of kafka-clients 4.3.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.authn.credentials import ScramCredential

CONTRACT_VERSION = (1, 0)
"""The version of what ``doorkeeper.authn`` exports."""


class CallbackHandler:
    """What all handlers share. There is one object for each mechanism of each listener."""

    def configure(
        self, configs: Mapping[str, str], mechanism: str, options: Mapping[str, str]
    ) -> None:
        """Take the configuration, once, before everything else.

        ``configs`` are all keys of the server, its own and others; one that is given with the
        prefix of this listener, or of this mechanism on it, stands there without the prefix.
        ``options`` are those of the mechanism's login module in the JAAS configuration.

        Raises:
            ValueError: it is wrong; the text begins with the key, and is what the operator reads.

        """

    async def start(self) -> None:
        """Get ready; the listener opens afterwards. What it raises stops the start."""

    async def close(self) -> None:
        """Let go of everything: once, on every way out, also where ``start`` has failed."""


class PlainPasswords(CallbackHandler, ABC):
    """Checks passwords. The users of the JAAS configuration are not asked beside it."""

    @abstractmethod
    async def check(self, name: str, password: str, context: AuthenticationContext) -> bool:
        """Say whether it is the user's password."""


class ScramCredentials(CallbackHandler, ABC):
    """Supplies what proofs are checked against, in place of the users in the server's store."""

    @abstractmethod
    async def credential(
        self, mechanism: str, name: str, context: AuthenticationContext
    ) -> ScramCredential | None:
        """Return a user's credential for this mechanism; None where there is no such user."""


class TokenValidator(CallbackHandler, ABC):
    """Reads the tokens of OAUTHBEARER."""

    @abstractmethod
    async def validate(self, token: str, context: AuthenticationContext) -> ValidatedToken:
        """Return what a token says.

        Raises:
            TokenRefused: it is not good.

        """


class ValidatedToken(NamedTuple):
    """A token of OAUTHBEARER that is good: whose it is, and until when.

    ``principal_name`` becomes the authorization id. ``expiry_ms`` is a time of the wall clock, in
    ms, and ends the session. ``claims`` are for a principal builder.
    """

    principal_name: str
    expiry_ms: int
    claims: Mapping[str, object] = {}


class TokenRefused(Exception):
    """A token is not good.

    The client is told the ``status`` and, where they are given, the scope that it needs and where
    the identity provider describes itself. The exception's text is for our log only; it must not
    hold the token.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: str = "invalid_token",
        scope: str | None = None,
        openid_configuration: str | None = None,
    ) -> None:
        """Take the reason, and what the client is told."""
        super().__init__(reason)
        self.status = status
        self.scope = scope
        self.openid_configuration = openid_configuration
