"""OAUTHBEARER on one listener, as configured.

By default tokens must be signed with a key of ``sasl.oauthbearer.jwks.endpoint.url``, without which
the server does not start. Kafka accepts unsigned tokens if no handler is configured; here that
handler must be named.

Source: ``SaslChannelBuilder``, ``OAuthBearerValidatorCallbackHandler``, ``DefaultJwtValidator`` and
``VerificationKeyResolverFactory`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from doorkeeper.server.config.sasl_keys import (
    SASL_JAAS_CONFIG,
    SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS,
    SASL_OAUTHBEARER_EXPECTED_AUDIENCE,
    SASL_OAUTHBEARER_EXPECTED_ISSUER,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_URL,
    SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS,
    SASL_OAUTHBEARER_SCOPE_CLAIM_NAME,
    SASL_OAUTHBEARER_SUB_CLAIM_NAME,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.security.contract import AuthenticationContext, Mechanism
from doorkeeper.server.security.guarded_handler import GuardedHandler, HandlerProvider, handler_of
from doorkeeper.server.security.handlers_contract import TokenValidator, ValidatedToken
from doorkeeper.server.security.oauth.mechanism import OAuthBearerMechanism
from doorkeeper.server.security.oauth.unsecured import UnsecuredTokens
from doorkeeper.server.security.provider import Provider, Sources

if TYPE_CHECKING:
    from doorkeeper.server.config.sasl import MechanismSettings
    from doorkeeper.server.security.oauth.jwks import FileKeys, KeySet
    from doorkeeper.server.security.oauth.jwks_url import UrlKeys

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
UNSECURED_HANDLER: Final = (
    f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
UNSECURED_HANDLERS: Final = (
    UNSECURED_HANDLER,
    f"{UnsecuredTokens.__module__}.{UnsecuredTokens.__qualname__}",
)
"""Handlers that accept unsigned tokens: Kafka's class, and the one here."""

VALIDATORS: Final = (f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator")


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return OAUTHBEARER as configured on a listener."""
    if settings[SASL_SERVER_CALLBACK_HANDLER_CLASS] in UNSECURED_HANDLERS:
        return UnsecuredProvider(settings, sources)
    handler = handler_of(settings, TokenValidator, sources.logger)  # type: ignore[type-abstract]
    if handler is not None:
        return OAuthHandlerProvider(handler, sources)
    return SignedProvider(settings, sources)


class UnsecuredProvider(Provider):
    """Accepts unsigned tokens."""

    def __init__(self, settings: MechanismSettings, sources: Sources) -> None:
        module = settings.login_module
        try:
            tokens = UnsecuredTokens({} if module is None else module.options, sources.now_ms)
        except ValueError as error:
            key = settings.full_name(SASL_JAAS_CONFIG)
            raise ValueError(f"{key}: {error}") from None
        self._tokens = tokens
        self._settings = settings
        self._sources = sources

    def begin(self, context: AuthenticationContext) -> Mechanism:
        return OAuthBearerMechanism(self._tokens, self._sources.now_ms)

    async def check(self) -> None:
        await self.start()

    async def start(self) -> None:
        """Warn that any client can log in under any name."""
        self._sources.logger.warning(
            "unsigned tokens are accepted: any client can use any name",
            listener=self._settings.listener_name,
            handler=self._settings[SASL_SERVER_CALLBACK_HANDLER_CLASS],
        )


class SignedProvider(Provider):
    """Accepts tokens signed by an identity provider."""

    def __init__(self, settings: MechanismSettings, sources: Sources) -> None:
        """Read the keys ``sasl.oauthbearer...``; files and URLs are read by ``start``."""
        # Imported here: the signature library is slow to import, and few servers need it.
        from doorkeeper.server.security.oauth.signed import ClaimRules, SignedTokens

        validator = settings[SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS]
        if validator not in VALIDATORS:
            key = settings.full_name(SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS)
            raise ValueError(
                f"{key}: found {validator}; allowed: {', '.join(VALIDATORS)}; for custom"
                f" validation set {SASL_SERVER_CALLBACK_HANDLER_CLASS}"
            )
        self._settings = settings
        self._sources = sources
        self._rules = ClaimRules(
            audiences=frozenset(settings[SASL_OAUTHBEARER_EXPECTED_AUDIENCE]),
            issuer=settings[SASL_OAUTHBEARER_EXPECTED_ISSUER],
            scope_claim=settings[SASL_OAUTHBEARER_SCOPE_CLAIM_NAME],
            subject_claim=settings[SASL_OAUTHBEARER_SUB_CLAIM_NAME],
            skew_s=settings[SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS],
        )
        self._keys = _key_source(settings, sources)
        self._tokens = SignedTokens(self._keys, self._rules, sources.now_ms)

    @property
    def keys(self) -> KeySet:
        return self._keys.keys

    def begin(self, context: AuthenticationContext) -> Mechanism:
        return OAuthBearerMechanism(self._tokens, self._sources.now_ms)

    async def start(self) -> None:
        """Load the keys, and warn about a weak configuration."""
        try:
            await self._keys.start()
        except ValueError as error:
            raise ValueError(
                f"{self._settings.full_name(SASL_OAUTHBEARER_JWKS_ENDPOINT_URL)}: {error}"
            ) from None
        for text in self._keys.keys.left_out:
            self._warn("a key of the key set is not used", why=text)
        if not self._rules.audiences:
            self._warn(
                "tokens without an audience are accepted and tokens with one are rejected: set"
                " the key",
                key=SASL_OAUTHBEARER_EXPECTED_AUDIENCE.name,
            )
        if not self._rules.issuer:
            self._warn(
                "tokens of any issuer are accepted: set the key",
                key=SASL_OAUTHBEARER_EXPECTED_ISSUER.name,
            )
        url = SASL_OAUTHBEARER_JWKS_ENDPOINT_URL
        if (self._settings[url] or "").lower().startswith("http:"):
            self._warn("keys fetched without TLS can be replaced on the network", key=url.name)

    def _warn(self, event: str, **fields: object) -> None:
        listener = self._settings.listener_name
        self._sources.logger.warning(event, listener=listener, **fields)

    async def check(self) -> None:
        """Load the keys if they are in a file; a URL is not fetched."""
        if urlsplit(self._settings[SASL_OAUTHBEARER_JWKS_ENDPOINT_URL] or "").scheme == "file":
            await self.start()

    def refresh(self) -> None:
        self._keys.refresh()

    async def close(self) -> None:
        await self._keys.close()


class OAuthHandlerProvider(HandlerProvider[TokenValidator]):
    """Accepts the tokens that a callback handler validates."""

    def __init__(self, guarded: GuardedHandler[TokenValidator], sources: Sources) -> None:
        super().__init__(guarded)
        self._now_ms = sources.now_ms

    def begin(self, context: AuthenticationContext) -> Mechanism:
        guarded = self._guarded

        def validate(token: str) -> Awaitable[ValidatedToken]:
            return guarded.call_handler(
                lambda: guarded.handler.validate(token, context), ValidatedToken, context, token
            )

        return OAuthBearerMechanism(validate, self._now_ms)


def _key_source(settings: MechanismSettings, sources: Sources) -> FileKeys | UrlKeys:
    url = settings[SASL_OAUTHBEARER_JWKS_ENDPOINT_URL]
    if not url:
        listener = settings.listener_name
        raise ValueError(
            f"{SASL_OAUTHBEARER_JWKS_ENDPOINT_URL}: listener {listener} offers OAUTHBEARER, but"
            " nothing is configured to verify its tokens. Set the URL of the identity provider's"
            " keys, or, to accept unsigned tokens,"
            f" listener.name.{listener.lower()}.oauthbearer.{SASL_SERVER_CALLBACK_HANDLER_CLASS}"
            f"={UNSECURED_HANDLER}"
        )
    key = settings.full_name(SASL_OAUTHBEARER_JWKS_ENDPOINT_URL)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"{key}: not a URL") from None
    try:
        # Read when a key is fetched, in a task that would end at the error.
        _ = parts.port
    except ValueError:
        raise ValueError(f"{key}: the port is not a number from 0 to 65535") from None
    if parts.scheme != "file" and any(letter <= " " for letter in parts.netloc):
        raise ValueError(f"{key}: the host has a space or a control character")
    if parts.scheme == "file":
        from doorkeeper.server.security.oauth.jwks import FileKeys

        if not parts.path.startswith("/"):
            raise ValueError(f"{key}: a file URL requires an absolute path: file:///etc/keys.json")
        # Kafka takes the path as it is written, without resolving percent signs.
        return FileKeys(Path(parts.path), sources.logger)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{key}: allowed: a URL with http, https or file")
    from doorkeeper.server.security.oauth.jwks_url import UrlKeys

    return UrlKeys(url, settings, sources.logger)
