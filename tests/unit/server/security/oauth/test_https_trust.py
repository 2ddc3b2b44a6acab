"""Which identity provider is the right one."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from msgspec.structs import replace

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.contract import AuthenticationContext, Success
from doorkeeper.server.security.oauth.jwks_url import UrlKeys, trust_context
from doorkeeper.server.security.oauth.provider import provider
from testkit.certificates import Authority, world
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger
from testkit.tls import shaken
from testkit.tokens import NOW_MS, NOW_S, first_message, key_of, key_set, signed

if TYPE_CHECKING:
    from pathlib import Path

KEY = key_of("EC", "k")


def settings(url: str = "", **options: str) -> MechanismSettings:
    """Return settings; ``truststore_type`` stands for the option ``ssl.truststore.type``."""
    given = {f"ssl.{name.replace('_', '.')}": value for name, value in options.items()}
    return MechanismSettings(
        name="OAUTHBEARER",
        listener_name="A",
        login_module=LoginModule("M", "REQUIRED", given),
        values={
            "sasl.oauthbearer.jwks.endpoint.url": url,
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "1",
        },
    )


def test_system_authorities_are_trusted_by_default() -> None:
    for given in (settings(), MechanismSettings(name="OAUTHBEARER", listener_name="A")):
        context = trust_context(given)

        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED


def test_authority_without_key_identifiers_is_trusted(tmp_path: Path) -> None:
    """Java accepts its certificates; Python 3.13 alone would not (VERIFY_X509_STRICT)."""
    authority = Authority(identifiers=False)
    (tmp_path / "ca.pem").write_text(authority.pem)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(authority.server().write_pem(tmp_path / "server.pem"))

    context = trust_context(
        settings(truststore_type="PEM", truststore_location=str(tmp_path / "ca.pem"))
    )

    assert shaken(served, context)[1].getpeercert()
    assert not trust_context(settings()).verify_flags & ssl.VERIFY_X509_STRICT


def test_authority_below_a_root_is_trusted(tmp_path: Path) -> None:
    """Java trusts every certificate of a trust store."""
    authority = Authority("Below", above=Authority("Root"))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(authority.server().write_pem(tmp_path / "server.pem"))

    context = trust_context(settings(truststore_type="PEM", truststore_certificates=authority.pem))

    assert shaken(served, context)[1].getpeercert()


async def test_untrusted_provider_is_rejected(tmp_path: Path) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(world().server.write_pem(tmp_path / "server.pem"))

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=key_set(KEY))

    app = web.Application()
    app.router.add_get("/keys", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "localhost", 0, ssl_context=served).start()
    url = f"https://localhost:{runner.addresses[0][1]}/keys"
    (tmp_path / "ca.pem").write_text(world().authority.pem)
    location = str(tmp_path / "ca.pem")
    sources = replace(NO_SOURCES, now_ms=lambda: NOW_MS)
    right = provider(settings(url, truststore_type="PEM", truststore_location=location), sources)
    wrong = provider(settings(url), sources)

    try:
        await right.start()
        with pytest.raises(ValueError, match="the server's certificate is not trusted"):
            await wrong.start()
        mechanism = right.begin(AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1"))
        token = signed({"sub": "alice", "iat": NOW_S, "exp": NOW_S + 9}, KEY, "ES256")
        assert isinstance(mechanism.step(first_message(token)), Success)
    finally:
        await right.close()
        await runner.cleanup()


async def test_trusted_certificates_are_reloaded(tmp_path: Path) -> None:
    """An identity provider with a new authority: its keys would never be fetched again."""
    authority = Authority("New")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(authority.server().write_pem(tmp_path / "server.pem"))
    file = tmp_path / "ca.pem"
    file.write_text(world().authority.pem)
    options = settings(truststore_type="PEM", truststore_location=str(file))
    keys = UrlKeys("https://localhost:1/keys", options, RecordingLogger())
    assert keys.tls is not None
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(served, keys.tls.value)

    file.write_text(authority.pem)
    keys.refresh()

    assert shaken(served, keys.tls.value)[1].getpeercert()


WRONG = {
    "another type": (
        {"truststore_location": "x"},
        "ssl.truststore.type: found JKS; allowed here: PEM",
    ),
    "two of them": (
        {"truststore_type": "PEM", "truststore_location": "x", "truststore_certificates": "y"},
        "give either",
    ),
    "another option": ({"keystore_location": "x"}, r"found the option ssl\.keystore\.location"),
    "no file": (
        {"truststore_type": "PEM", "truststore_location": "none.pem"},
        "none.pem: No such file",
    ),
    "no PEM": ({"truststore_type": "PEM", "truststore_certificates": "hush"}, "contains no PEM"),
}


@pytest.mark.parametrize(("options", "text"), WRONG.values(), ids=WRONG)
def test_other_options_are_rejected(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=rf"^sasl\.jaas\.config: .*{text}") as error:
        trust_context(settings(**options))

    assert "hush" not in str(error.value)
