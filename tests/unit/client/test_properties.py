"""A Java client's properties, as commands read them."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.client.logins import Bearer, Password
from doorkeeper.client.properties import CommandConfigError, client_config
from testkit.certificates import Authority, world
from testkit.tls import shaken

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
ADDRESS = "localhost:9092"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "client.properties"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def sasl(mechanism: str, jaas: str) -> tuple[str, str, str]:
    return (
        "security.protocol=SASL_PLAINTEXT",
        f"sasl.mechanism={mechanism}",
        f"sasl.jaas.config={jaas}",
    )


@pytest.mark.parametrize(
    ("mechanism", "jaas", "login"),
    [
        ("PLAIN", f'{PLAIN} required username="a" password="b";', Password("PLAIN", "a", "b")),
        (
            "SCRAM-SHA-512",
            f'{SCRAM} required username="a=,b" password="p\\\\"q";',
            Password("SCRAM-SHA-512", "a=,b", 'p"q'),
        ),
        (
            "SCRAM-SHA-256",
            f'{SCRAM} required username="id" password="hmac" tokenauth="true";',
            Password("SCRAM-SHA-256", "id", "hmac", by_token=True),
        ),
    ],
)
def test_login_is_read_from_jaas(
    tmp_path: Path, mechanism: str, jaas: str, login: Password
) -> None:
    config = client_config(ADDRESS, written(tmp_path, *sasl(mechanism, jaas)))

    assert (config.login, config.tls) == (login, None)
    assert "pass" not in repr(login)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            ("security.protocol=TLS",),
            "security.protocol: found TLS; allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        (
            ("security.protocol=SASL_PLAINTEXT",),
            "sasl.mechanism: found GSSAPI; allowed: PLAIN, SCRAM-SHA-256, ",
        ),
        (
            ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN"),
            "sasl.jaas.config: missing; PLAIN requires it",
        ),
        (sasl("PLAIN", "x y z"), "sasl.jaas.config: "),
        (
            sasl("PLAIN", f"{PLAIN} required username=a password=b; {PLAIN} required;"),
            "sasl.jaas.config: found 2 login modules; expected: one",
        ),
        (
            sasl("PLAIN", f"{SCRAM} required username=a password=b;"),
            f"sasl.jaas.config: found {SCRAM}; PLAIN requires {PLAIN}",
        ),
        (
            sasl("PLAIN", f"{PLAIN} required username=a;"),
            "sasl.jaas.config: the option password is missing or empty",
        ),
        (
            sasl("OAUTHBEARER", f"{OAUTH} required;"),
            "sasl.jaas.config: OAUTHBEARER requires unsecuredLoginStringClaim_sub, or",
        ),
        (("request.timeout.ms=0",), "request.timeout.ms: found '0'; allowed: 1 to 2147483647"),
        (("retry.backoff.ms=x",), "retry.backoff.ms: found 'x'; allowed: "),
        (("security.protocol=SSL", "ssl.truststore.location=/absent"), "ssl.truststore.location: "),
    ],
)
def test_errors_name_the_key(tmp_path: Path, lines: tuple[str, ...], text: str) -> None:
    with pytest.raises(CommandConfigError) as raised:
        client_config(ADDRESS, written(tmp_path, *lines))

    assert str(raised.value).startswith(text)
    assert "\n" not in str(raised.value)


def test_tls_verifies_the_server(tmp_path: Path) -> None:
    """Certificate and host name are checked; an empty algorithm leaves the name out, as in Java."""
    pem = tmp_path / "ca.pem"
    pem.write_text(world().authority.pem)
    lines = (
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={pem}",
    )

    strict = client_config(ADDRESS, written(tmp_path, *lines)).tls
    named = "ssl.endpoint.identification.algorithm="
    lax = client_config(ADDRESS, written(tmp_path, *lines, named)).tls

    assert strict is not None
    assert lax is not None
    assert (strict.verify_mode, strict.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (lax.verify_mode, lax.check_hostname) == (ssl.CERT_REQUIRED, False)
    assert len(strict.get_ca_certs()) == 1


def test_authority_below_a_root_is_trusted(tmp_path: Path) -> None:
    """Java trusts every certificate of a trust store."""
    authority = Authority("Below", above=Authority("Root"))
    (tmp_path / "ca.pem").write_text(authority.pem)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(authority.server().write_pem(tmp_path / "server.pem"))
    lines = (
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={tmp_path / 'ca.pem'}",
    )

    context = client_config(ADDRESS, written(tmp_path, *lines)).tls

    assert context is not None
    assert shaken(served, context)[1].getpeercert()


def test_oauthbearer_from_jaas_options(tmp_path: Path) -> None:
    jaas = f'{OAUTH} required unsecuredLoginStringClaim_sub="alice";'

    login = client_config(ADDRESS, written(tmp_path, *sasl("OAUTHBEARER", jaas))).login

    assert isinstance(login, Bearer)
    assert login.mechanism == "OAUTHBEARER"
