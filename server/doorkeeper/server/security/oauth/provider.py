"""OAUTHBEARER on one listener, as configured.

By default tokens must be signed with a key of ``sasl.oauthbearer.jwks.endpoint.url``, without which
the server does not start. Kafka accepts unsigned tokens if no handler is configured; here that
handler must be named.

Source: ``SaslChannelBuilder``, ``OAuthBearerValidatorCallbackHandler``, ``DefaultJwtValidator`` and
``VerificationKeyResolverFactory`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from doorkeeper.server.security.handler_loading import KEY as HANDLER
from doorkeeper.server.security.handler_loading import handler_of
from doorkeeper.server.security.handlers_contract import TokenValidator, ValidatedToken
from doorkeeper.server.security.oauth.https_trust import trust_context
from doorkeeper.server.security.oauth.mechanism import OAuthBearerMechanism
from doorkeeper.server.security.oauth.unsecured import UnsecuredTokens
from doorkeeper.server.security.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from doorkeeper.server.config.mechanisms import MechanismSettings
    from doorkeeper.server.security.contract import AuthenticationContext, Mechanism
    from doorkeeper.server.security.guarded_handler import GuardedHandler
    from doorkeeper.server.security.oauth.jwks import KeySet
    from doorkeeper.server.security.oauth.jwks_file import FileKeys
    from doorkeeper.server.security.oauth.jwks_url import UrlKeys
    from doorkeeper.server.security.oauth.signed import ClaimRules
    from doorkeeper.server.security.provider import Sources

URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
REFRESH_MS: Final = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
BACKOFF_MS: Final = "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"
BACKOFF_MAX_MS: Final = "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"
AUDIENCE: Final = "sasl.oauthbearer.expected.audience"
ISSUER: Final = "sasl.oauthbearer.expected.issuer"
SCOPE_CLAIM_NAME: Final = "sasl.oauthbearer.scope.claim.name"
SUB_CLAIM_NAME: Final = "sasl.oauthbearer.sub.claim.name"
CLOCK_SKEW_S: Final = "sasl.oauthbearer.clock.skew.seconds"
VALIDATOR: Final = "sasl.oauthbearer.jwt.validator.class"

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
_DEFAULTS: Final = {
    REFRESH_MS: "3600000",
    BACKOFF_MS: "100",
    BACKOFF_MAX_MS: "10000",
    CLOCK_SKEW_S: "30",
    SCOPE_CLAIM_NAME: "scope",
    SUB_CLAIM_NAME: "sub",
    VALIDATOR: VALIDATORS[0],
}


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return OAUTHBEARER as configured on a listener.

    Raises:
        ValueError: a key is wrong, or the configuration does not say how to verify tokens.
    """
    if settings.callback_handler.strip() in UNSECURED_HANDLERS:
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
            key = settings.given_as.get("sasl.jaas.config", "sasl.jaas.config")
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
            handler=self._settings.callback_handler,
        )


class SignedProvider(Provider):
    """Accepts tokens signed by an identity provider."""

    def __init__(self, settings: MechanismSettings, sources: Sources) -> None:
        """Read the keys ``sasl.oauthbearer...``; files and URLs are read by ``start``."""
        # Imported here: the signature library is slow to import, and few servers need it.
        from doorkeeper.server.security.oauth.signed import SignedTokens

        validator = _value(settings, VALIDATOR)
        if validator not in VALIDATORS:
            raise ValueError(
                f"{_key_name(settings, VALIDATOR)}: found {validator}; allowed:"
                f" {', '.join(VALIDATORS)}; a check of your own is named by {HANDLER}"
            )
        self._settings = settings
        self._sources = sources
        self._rules = _rules(settings)
        self._keys = _key_source(settings, sources)
        self._tokens = SignedTokens(self._keys, self._rules, sources.now_ms)

    @property
    def keys(self) -> KeySet:
        return self._keys.keys

    def begin(self, context: AuthenticationContext) -> Mechanism:
        return OAuthBearerMechanism(self._tokens, self._sources.now_ms)

    async def start(self) -> None:
        """Load the keys, and warn about a weak configuration.

        Raises:
            ValueError: the keys cannot be loaded.
        """
        try:
            await self._keys.start()
        except ValueError as error:
            raise ValueError(f"{_key_name(self._settings, URL)}: {error}") from None
        for text in self._keys.keys.left_out:
            self._warn("a key of the key set is not used", why=text)
        for key, given in ((AUDIENCE, self._rules.audiences), (ISSUER, self._rules.issuer)):
            if not given:
                self._warn("tokens without this claim are accepted: set the key", key=key)
        if _value(self._settings, URL).lower().startswith("http:"):
            self._warn("keys fetched without TLS can be replaced on the network", key=URL)

    def _warn(self, event: str, **fields: object) -> None:
        listener = self._settings.listener_name
        self._sources.logger.warning(event, listener=listener, **fields)

    async def check(self) -> None:
        """Load the keys if they are in a file; a URL is not fetched."""
        if urlsplit(_value(self._settings, URL)).scheme == "file":
            await self.start()

    def refresh(self) -> None:
        self._keys.refresh()

    async def close(self) -> None:
        await self._keys.close()


class OAuthHandlerProvider(Provider):
    """Accepts the tokens that a callback handler validates."""

    def __init__(self, handler: GuardedHandler[TokenValidator], sources: Sources) -> None:
        self._handler = handler
        self._now_ms = sources.now_ms

    def begin(self, context: AuthenticationContext) -> Mechanism:
        guarded = self._handler

        def validate(token: str) -> Awaitable[ValidatedToken]:
            return guarded.call_handler(
                lambda: guarded.handler.validate(token, context), ValidatedToken, context, token
            )

        return OAuthBearerMechanism(validate, self._now_ms)

    async def start(self) -> None:
        await self._handler.start()

    async def close(self) -> None:
        await self._handler.close()


def _rules(settings: MechanismSettings) -> ClaimRules:
    from doorkeeper.server.security.oauth.signed import ClaimRules

    audiences = map(str.strip, settings.values.get(AUDIENCE, "").split(","))
    return ClaimRules(
        audiences=frozenset(filter(None, audiences)),
        issuer=settings.values.get(ISSUER, "").strip() or None,
        scope_claim=_value(settings, SCOPE_CLAIM_NAME),
        subject_claim=_value(settings, SUB_CLAIM_NAME),
        skew_s=_number(settings, CLOCK_SKEW_S),
    )


def _key_source(settings: MechanismSettings, sources: Sources) -> FileKeys | UrlKeys:
    url = settings.values.get(URL, "").strip()
    if not url:
        listener = settings.listener_name
        raise ValueError(
            f"{URL}: listener {listener} offers OAUTHBEARER, and no key says how to verify its"
            " tokens: set the URL of the identity provider's keys, or, to accept unsigned tokens,"
            f" listener.name.{listener.lower()}.oauthbearer.{HANDLER}={UNSECURED_HANDLER}"
        )
    key = _key_name(settings, URL)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"{key}: it is no URL") from None
    if parts.scheme == "file":
        from doorkeeper.server.security.oauth.jwks_file import FileKeys

        if not parts.path.startswith("/"):
            raise ValueError(f"{key}: a URL of a file has a whole path: file:///etc/keys.json")
        # Kafka takes the path as it is written, without resolving percent signs.
        return FileKeys(Path(parts.path), sources.logger)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{key}: allowed: a URL with http, https or file")
    return _url_keys(settings, sources, url)


def _url_keys(settings: MechanismSettings, sources: Sources, url: str) -> UrlKeys:
    from doorkeeper.server.security.oauth.jwks_url import (
        KeyEndpoint,
        UrlKeys,
    )

    refresh_ms = _number(settings, REFRESH_MS)
    if refresh_ms < 1:
        raise ValueError(f"{_key_name(settings, REFRESH_MS)}: found {refresh_ms}; at least 1")
    endpoint = KeyEndpoint(
        url=url,
        refresh_s=refresh_ms / 1000,
        backoff_s=_number(settings, BACKOFF_MS) / 1000,
        backoff_max_s=_number(settings, BACKOFF_MAX_MS) / 1000,
        tls=trust_context(settings) if url.lower().startswith("https:") else None,
    )
    return UrlKeys(endpoint, sources.logger)


def _key_name(settings: MechanismSettings, name: str) -> str:
    """Return the key as written in the configuration, for error texts."""
    return settings.given_as.get(name, name)


def _value(settings: MechanismSettings, name: str) -> str:
    return settings.values.get(name, "").strip() or _DEFAULTS[name]


def _number(settings: MechanismSettings, name: str) -> int:
    text = _value(settings, name)
    try:
        number = int(text)
    except ValueError:
        raise ValueError(
            f"{_key_name(settings, name)}: found {text!r}; allowed: a number"
        ) from None
    if number < 0:
        raise ValueError(f"{_key_name(settings, name)}: found {number}; at least 0")
    return number
