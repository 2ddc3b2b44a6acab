"""The context of a listener, in handshakes."""

from __future__ import annotations

import datetime as dt
import ssl
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.tls.settings import TlsError, TlsSettings
from doorkeeper.base.tls.sources import files_of
from doorkeeper.server.security.tls.context import BuiltContext, build_context
from testkit.certificates import Authority, crl_pem, world
from testkit.tls import client_context, in_pem, settings, shaken

if TYPE_CHECKING:
    from pathlib import Path

PARTIAL = "TLS_AES_128_GCM_SHA256"
OLDER = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


def made(found: TlsSettings) -> BuiltContext:
    """Return the context of settings."""
    return build_context(found, files_of(found))


def test_handshake_without_client_certificate(tmp_path: Path) -> None:
    server, client = shaken(made(in_pem(tmp_path)).context, client_context())

    assert server.version() == "TLSv1.3"
    assert server.getpeercert(binary_form=True) is None
    assert client.session is None or not client.session.has_ticket


@pytest.mark.parametrize(
    ("asked", "shown", "name"),
    [
        ("none", "alice", None),
        ("requested", None, None),
        ("requested", "alice", "alice"),
        ("required", "alice", "alice"),
    ],
)
def test_client_certificate_modes(
    tmp_path: Path, asked: str, shown: str | None, name: str | None
) -> None:
    client = client_context(world().alice if shown else None, tmp_path)

    server, _ = shaken(made(in_pem(tmp_path, ssl_client_auth=asked)).context, client)

    expected = None if name is None else world().alice.der
    assert server.getpeercert(binary_form=True) == expected


@pytest.mark.parametrize(
    ("asked", "shown"), [("required", None), ("required", "stranger"), ("requested", "stranger")]
)
def test_untrusted_certificates_are_rejected(tmp_path: Path, asked: str, shown: str | None) -> None:
    client = client_context(world().stranger if shown else None, tmp_path)

    with pytest.raises(ssl.SSLError):
        shaken(made(in_pem(tmp_path, ssl_client_auth=asked)).context, client)


def test_every_trusted_certificate_is_a_root(tmp_path: Path) -> None:
    """An authority between, and a client's own certificate, may be trusted by themselves."""
    between = Authority("Between", Authority("Root"))
    clara = between.client("clara")
    for trusted in (between.pem, clara.pem):
        (tmp_path / "them.pem").write_text(trusted)
        found = in_pem(
            tmp_path, ssl_client_auth="required", ssl_truststore_location=tmp_path / "them.pem"
        )

        server, _ = shaken(made(found).context, client_context(clara, tmp_path))

        assert server.getpeercert(binary_form=True) == clara.der


def test_server_wide_client_auth_is_ignored_with_sasl(tmp_path: Path) -> None:
    asking = {"ssl_client_auth": "required", "protocol": "SASL_SSL"}
    of_server = made(in_pem(tmp_path, **asking))
    own = made(in_pem(tmp_path, **asking, prefix="listener.name.door."))

    assert of_server.context.verify_mode is ssl.CERT_NONE
    (warning,) = of_server.warnings
    assert warning == (
        "ssl.client.auth=required does not count for listener DOOR, which speaks SASL_SSL: to ask"
        " its clients for certificates give listener.name.door.ssl.client.auth"
    )
    assert (own.context.verify_mode, own.warnings) == (ssl.CERT_REQUIRED, ())


def test_revoked_certificates_are_rejected(tmp_path: Path) -> None:
    revoked = tmp_path / "revoked.pem"
    revoked.write_text(crl_pem(world().authority.revoked(world().bob)))
    found = in_pem(tmp_path, ssl_client_auth="required", doorkeeper_ssl_crl_file=revoked)
    context = made(found).context

    shaken(context, client_context(world().alice, tmp_path))
    with pytest.raises(ssl.SSLError):
        shaken(context, client_context(world().bob, tmp_path))


def test_new_revocation_list_ends_tls_1_2_sessions(tmp_path: Path) -> None:
    """Python cannot keep OpenSSL from taking up sessions of TLS 1.2, within one context only."""
    authority, alice = world().authority, world().alice
    lists = tmp_path / "revoked.pem"
    lists.write_text(crl_pem(authority.revoked()))
    found = in_pem(tmp_path, ssl_client_auth="required", doorkeeper_ssl_crl_file=lists)
    before = made(found).context
    client = client_context(alice, tmp_path)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    _, first = shaken(before, client)
    server, again = shaken(before, client, first.session)
    assert again.session_reused
    assert server.getpeercert(binary_form=True) == alice.der

    lists.write_text(crl_pem(authority.revoked(alice)))

    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        shaken(made(found).context, client, first.session)


def test_incomplete_revocation_lists_reject_clients(tmp_path: Path) -> None:
    other = Authority("Other")
    (tmp_path / "both.pem").write_text(world().authority.pem + other.pem)
    (tmp_path / "list").write_text(crl_pem(other.revoked()))
    values: dict[str, str | Path] = {
        "ssl_client_auth": "required",
        "ssl_truststore_location": tmp_path / "both.pem",
        "doorkeeper_ssl_crl_file": tmp_path / "list",
    }
    missing = made(in_pem(tmp_path, **values))
    over = dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
    (tmp_path / "list").write_text(crl_pem(other.revoked(), world().authority.revoked(until=over)))
    expired = made(in_pem(tmp_path, **values))

    for each in (missing, expired):
        with pytest.raises(ssl.SSLError):
            shaken(each.context, client_context(world().alice, tmp_path))
    (warning,) = missing.warnings
    assert warning == (
        "doorkeeper.ssl.crl.file: it has no list of 'CN=Test Authority,O=Example': every"
        " certificate of that issuer is refused"
    )
    assert expired.warnings == ()


@pytest.mark.parametrize(
    ("suites", "spoken", "warnings"),
    [
        (OLDER, "TLSv1.2", 0),
        (PARTIAL, "TLSv1.3", 1),
        (
            "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256",
            "TLSv1.3",
            0,
        ),
    ],
)
def test_cipher_suites_select_protocols(
    tmp_path: Path, suites: str, spoken: str, warnings: int
) -> None:
    """A protocol without a suite is not spoken; a part of TLS 1.3's is told to be all."""
    found = made(in_pem(tmp_path, ssl_cipher_suites=suites))

    server, _ = shaken(found.context, client_context())

    assert (server.version(), len(found.warnings)) == (spoken, warnings)


def test_enabled_protocols(tmp_path: Path) -> None:
    found = made(in_pem(tmp_path, ssl_enabled_protocols="TLSv1.2", ssl_protocol="TLSv1.2"))
    newer = client_context()
    newer.minimum_version = ssl.TLSVersion.TLSv1_3

    assert shaken(found.context, client_context())[0].version() == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        shaken(found.context, newer)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"ssl_enabled_protocols": "TLSv1.1"},
            "ssl.enabled.protocols: found 'TLSv1.1'; allowed: TLSv1.2, TLSv1.3",
        ),
        ({"ssl_protocol": "SSL"}, "ssl.protocol: found 'SSL'; allowed: TLS, TLSv1.2, TLSv1.3"),
        ({"ssl_client_auth": "maybe"}, "allowed: required or requested or none"),
        ({"ssl_cipher_suites": "X"}, "ssl.cipher.suites: found 'X'; allowed: TLS_AES_256_GCM"),
        (
            {"ssl_cipher_suites": OLDER, "ssl_enabled_protocols": "TLSv1.3"},
            "ssl.cipher.suites: no enabled cipher suite works with TLSv1.3 (ssl.enabled.protocols)",
        ),
        ({"doorkeeper_ssl_crl_file": "server.pem"}, "allowed: PEM with a block X509 CRL"),
    ],
)
def test_invalid_values_are_rejected(tmp_path: Path, values: dict[str, str], said: str) -> None:
    if "doorkeeper_ssl_crl_file" in values:
        values = {"doorkeeper_ssl_crl_file": str(tmp_path / "server.pem")}

    with pytest.raises(TlsError) as refused:
        made(in_pem(tmp_path, **values))

    assert said in str(refused.value)


def test_client_authentication_requires_a_trust_store(tmp_path: Path) -> None:
    server = world().server.write_pem(tmp_path / "server.pem")

    with pytest.raises(TlsError, match="requests client certificates"):
        made(
            settings(
                ssl_keystore_type="PEM",
                ssl_keystore_location=server,
                ssl_client_auth="requested",
            )
        )
