"""SCRAM on one listener, with users from the server's store or from a callback handler."""

from __future__ import annotations

import os
from types import NoneType

from msgspec.structs import replace

from doorkeeper.base.credentials import ITERATIONS_MIN, ScramCredential, base_36
from doorkeeper.server.config.mechanisms import MechanismSettings
from doorkeeper.server.config.sasl_keys import SASL_SERVER_CALLBACK_HANDLER_CLASS
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper.server.security.guarded_handler import GuardedHandler, handler_of
from doorkeeper.server.security.handlers_contract import ScramCredentials
from doorkeeper.server.security.provider import Provider, Sources
from doorkeeper.server.security.scram import Accounts, ScramMechanism, accounts_of


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return SCRAM as configured on a listener."""
    mechanism = settings.name
    if settings[SASL_SERVER_CALLBACK_HANDLER_CLASS]:
        handler = handler_of(settings, ScramCredentials, sources.logger)  # type: ignore[type-abstract]
        if handler is not None:
            return ScramHandlerProvider(handler, mechanism, sources)
    return ScramProvider(
        accounts_of(mechanism, sources, lambda name: sources.scram_credential(mechanism, name))
    )


class ScramProvider(Provider):
    """SCRAM with the same accounts for every connection."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def begin(self, context: AuthenticationContext) -> ScramMechanism:
        # 17 random bytes give the 130 bits of a nonce of Kafka's.
        return ScramMechanism(self._accounts, base_36(os.urandom(17)).decode())


class ScramHandlerProvider(Provider):
    """SCRAM with users from a callback handler, and the server's own delegation tokens.

    An unknown name is told the iterations of the last known one.
    """

    def __init__(
        self, guarded: GuardedHandler[ScramCredentials], mechanism: str, sources: Sources
    ) -> None:
        self._guarded = guarded
        self._mechanism = mechanism
        self._iterations = ITERATIONS_MIN
        self._accounts = replace(
            accounts_of(mechanism, sources, lambda _name: None), iterations=lambda: self._iterations
        )

    def begin(self, context: AuthenticationContext) -> ScramMechanism:
        accounts = replace(self._accounts, users=lambda name: self._credential(name, context))
        return ScramMechanism(accounts, base_36(os.urandom(17)).decode())

    async def _credential(
        self, name: str, context: AuthenticationContext
    ) -> ScramCredential | None:
        ask = self._guarded.handler.credential
        credential: ScramCredential | None = await self._guarded.call_handler(
            lambda: ask(self._mechanism, name, context), (ScramCredential, NoneType), context
        )
        if credential is not None:
            self._iterations = credential.iterations
        return credential

    async def start(self) -> None:
        await self._guarded.start()

    async def close(self) -> None:
        await self._guarded.close()
