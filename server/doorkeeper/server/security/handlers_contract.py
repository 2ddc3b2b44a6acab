"""The contract of callback handlers: plug-ins that verify passwords, credentials or tokens.

``sasl.server.callback.handler.class`` names one; see ``docs/reference/authentication-contract.md``.

    PlainPasswords      checks a name and a password         PLAIN
    ScramCredentials    supplies a user's credential         SCRAM-SHA-256, SCRAM-SHA-512
    TokenValidator      validates a token                    OAUTHBEARER

A handler may implement several of them. All methods run on the event loop: await slow calls, and
move blocking ones to a thread (``asyncio.to_thread``). An exception, a timeout or a result of
another type refuses the client.

Source: ``AuthenticateCallbackHandler`` and the callbacks of kafka-clients 4.3.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.base.credentials import ScramCredential
    from doorkeeper.server.security.contract import AuthenticationContext

AUTHENTICATION_CONTRACT_VERSION = (1, 0)
"""The version of the names of authentication that ``doorkeeper.plugins`` exports."""


class CallbackHandler:
    """Base class of handlers. There is one instance for each mechanism of each listener."""

    def configure(
        self, configs: Mapping[str, str], mechanism: str, options: Mapping[str, str]
    ) -> None:
        """Read the configuration; called once, before all other methods.

        ``configs`` are all keys of the server, known and unknown; a key with the prefix of this
        listener, or of this mechanism on it, is present without the prefix too. ``options`` are
        those of the mechanism's login module in the JAAS configuration.

        Raises:
            ValueError: the configuration is wrong; the text begins with the key and is shown to the
                operator.
        """

    async def start(self) -> None:
        """Prepare for calls; the listener opens afterwards. An exception prevents the start."""

    async def close(self) -> None:
        """Release all resources. Called exactly once, also after ``start`` has failed."""


class PlainPasswords(CallbackHandler, ABC):
    """Checks passwords. The users of the JAAS configuration are not consulted then."""

    @abstractmethod
    async def check(self, name: str, password: str, context: AuthenticationContext) -> bool:
        """Return whether the password is the user's."""


class ScramCredentials(CallbackHandler, ABC):
    """Supplies SCRAM credentials, in place of the users in the server's store."""

    @abstractmethod
    async def credential(
        self, mechanism: str, name: str, context: AuthenticationContext
    ) -> ScramCredential | None:
        """Return a user's credential for this mechanism; None for an unknown user."""


class TokenValidator(CallbackHandler, ABC):
    """Validates the tokens of OAUTHBEARER."""

    @abstractmethod
    async def validate(self, token: str, context: AuthenticationContext) -> ValidatedToken:
        """Return the principal, expiry and claims of a token.

        Raises:
            TokenRefused: the token is invalid.
        """


class ValidatedToken(NamedTuple):
    """A valid token of OAUTHBEARER.

    ``principal_name`` becomes the authorization id. ``expiry_ms`` is a wall-clock time and ends the
    session. ``claims`` are for a principal builder.
    """

    principal_name: str
    expiry_ms: int
    claims: Mapping[str, object] = {}


class TokenRefused(Exception):
    """A token is invalid.

    The client receives ``status`` and, if given, the required ``scope`` and the URL of the identity
    provider's configuration. The exception's text is for the server's log only; it must not contain
    the token.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: str = "invalid_token",
        scope: str | None = None,
        openid_configuration: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope
        self.openid_configuration = openid_configuration
