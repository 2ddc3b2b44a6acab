"""Which tokens a listener takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import AuthenticationContext, Challenge, Success
from doorkeeper.server.security.guarded_handler import HandlerFault
from doorkeeper.server.security.oauth import provider as offered
from doorkeeper.server.security.provider import provider_of
from testkit.callback_handlers import ODD_TOKENS
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger
from testkit.tokens import NOW_MS, NOW_S, first_message, key_of, key_set, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from doorkeeper.server.security.provider import Provider

CONTEXT = AuthenticationContext("CLIENTS", "SASL_PLAINTEXT", "127.0.0.1")
CLAIMS = {"sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 10}
KEY = key_of("EC", "k")
SOURCES = replace(NO_SOURCES, now_ms=lambda: NOW_MS)
SIGNED_HANDLERS = (
    "",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)


def settings(
    handler: str = "", options: dict[str, str] | None = None, **values: str
) -> MechanismSettings:
    """Return settings; ``jwks_endpoint_url`` stands for the key of that name."""
    return MechanismSettings(
        name="OAUTHBEARER",
        listener_name="CLIENTS",
        login_module=None if options is None else LoginModule("m", "REQUIRED", options),
        values={
            "sasl.server.callback.handler.class": handler,
            **{f"sasl.oauthbearer.{name.replace('_', '.')}": text for name, text in values.items()},
        },
    )


def step(provider: Provider, token: str) -> object:
    return provider.begin(CONTEXT).step(first_message(token))


def accepted(found: object) -> bool:
    assert isinstance(found, Success | Challenge)
    return isinstance(found, Success)


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "keys.json").write_bytes(key_set(KEY))
    return (tmp_path / "keys.json").as_uri()


@pytest.mark.parametrize("handler", offered.UNSECURED_HANDLERS)
async def test_unsecured_handler_accepts_unsigned_tokens(handler: str) -> None:
    """Kafka's name, or ours; the options are those of the login module, and the log says so."""
    log = RecordingLogger()
    module = {"unsecuredValidatorRequiredScope": "admin"}
    sources = replace(SOURCES, logger=log)
    provider = provider_of(settings(handler), sources)
    scoped = provider_of(settings(handler, module), sources)

    await provider.start()

    assert accepted(step(provider, unsigned(CLAIMS)))
    text = '{"status":"insufficient_scope", "scope":"[admin]"}'
    assert step(scoped, unsigned(CLAIMS)) == Challenge(
        text.encode(), f"{text}: a required scope is missing"
    )
    assert "any client can use any name" in str(log.lines)


@pytest.mark.parametrize("handler", SIGNED_HANDLERS)
async def test_key_set_accepts_only_signed_tokens(url: str, handler: str) -> None:
    """With Kafka's handler named, and with none: an unsigned token is refused either way."""
    provider = provider_of(settings(handler, jwks_endpoint_url=url), SOURCES)
    await provider.start()

    assert accepted(step(provider, signed(CLAIMS, KEY, "ES256")))
    assert not accepted(step(provider, unsigned(CLAIMS)))
    await provider.close()


@pytest.mark.parametrize("handler", SIGNED_HANDLERS)
def test_missing_handler_and_keys_stop_the_start(handler: str) -> None:
    with pytest.raises(ValueError, match=r"^sasl\.oauthbearer\.jwks\.endpoint\.url: ") as error:
        provider_of(settings(handler), SOURCES)

    assert "\n" not in str(error.value)
    assert (
        "listener.name.clients.oauthbearer.sasl.server.callback.handler.class="
        f"{offered.UNSECURED_HANDLER}"
    ) in str(error.value)


async def test_custom_handler_decides_alone() -> None:
    provider = provider_of(settings("testkit.callback_handlers:Tickets"), SOURCES)
    await provider.start()

    async def outcome(token: str) -> object:
        return await cast("Awaitable[object]", step(provider, token))

    good, bad = await outcome("ticket-alice"), await outcome("other")
    assert good == Success("alice", lifetime_ms=60_000, claims={"from": "CLIENTS"})
    text = '{"status":"insufficient_scope", "scope":"tickets"}'
    assert bad == Challenge(text.encode(), f"{text}: no ticket")
    with pytest.raises(HandlerFault):
        await outcome("break")
    await provider.close()


@pytest.mark.parametrize("odd", ODD_TOKENS)
async def test_invalid_handler_result_rejects_the_login(odd: str) -> None:
    provider = provider_of(settings("testkit.callback_handlers:Tickets"), SOURCES)

    with pytest.raises(HandlerFault, match="ValidatedToken"):
        await cast("Awaitable[object]", step(provider, odd))


async def test_validation_settings_follow_the_keys(url: str) -> None:
    provider = provider_of(
        settings(
            jwks_endpoint_url=url,
            expected_audience="orders, doorkeeper",
            expected_issuer=" https://idp ",
            sub_claim_name="client",
            clock_skew_seconds="0",
        ),
        SOURCES,
    )
    await provider.start()
    good = CLAIMS | {"client": "bob", "aud": "doorkeeper", "iss": "https://idp"}

    found = step(provider, signed(good, KEY, "ES256"))

    assert isinstance(found, Success)
    assert found.authorization_id == "bob"
    for other in ({"client": None}, {"aud": "x"}, {"iss": "x"}, {"exp": NOW_S}):
        assert not accepted(step(provider, signed(good | other, KEY, "ES256")))


WRONG = {
    "ftp://idp/keys": "a URL with http, https or file",
    "https:///keys": "a URL with http, https or file",
    "keys.json": "a URL with http, https or file",
    "file:keys.json": "requires an absolute path",
    "http://[": "not a URL",
}


@pytest.mark.parametrize(("url", "text"), WRONG.items())
def test_other_url_schemes_are_rejected(url: str, text: str) -> None:
    """As Kafka, which takes three schemes."""
    with pytest.raises(ValueError, match=rf"^sasl\.oauthbearer\.jwks\.endpoint\.url: .*{text}"):
        provider_of(settings(jwks_endpoint_url=url), SOURCES)


def test_invalid_validator_names_its_key() -> None:
    key = "sasl.oauthbearer.jwt.validator.class"
    wrong = settings(jwks_endpoint_url="https://idp/keys", jwt_validator_class="a.B")
    prefixed = f"listener.name.clients.oauthbearer.{key}"

    for given, told in (({}, key), ({key: prefixed}, prefixed)):
        with pytest.raises(ValueError, match=rf"^{told}: ".replace(".", r"\.")):
            provider_of(replace(wrong, given_as=given), SOURCES)


def test_invalid_options_name_the_jaas_entry() -> None:
    wrong = settings(offered.UNSECURED_HANDLER, {"unsecuredValidatorAllowableClockSkewMs": "soon"})

    with pytest.raises(ValueError, match=r"^sasl\.jaas\.config: unsecuredValidatorAllowable"):
        provider_of(wrong, SOURCES)
