"""Key stores and trust stores."""

from __future__ import annotations

import builtins
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from doorkeeper.base.tls.settings import TlsError
from doorkeeper.base.tls.sources import files_of
from doorkeeper.base.tls.stores import identity_of, trust_store_of
from testkit.certificates import PASSWORD, Authority, jks, trust_store, world
from testkit.tls import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SERVER = world().server
CHAIN = (SERVER.certificate, world().authority.own.certificate)
needs_keytool = pytest.mark.skipif(
    shutil.which("keytool") is None, reason="keytool is not installed (make setup-system)"
)


def identity(**values: str | Path) -> Any:
    """Return the identity of settings."""
    found = settings(**values)
    return identity_of(found, files_of(found))


def trusted(**values: str | Path) -> Any:
    """Return whom settings trust."""
    found = settings(**values)
    return trust_store_of(found, files_of(found))


def refusal(ask: Callable[..., Any], **values: str | Path) -> str:
    """Return the error of settings."""
    with pytest.raises(TlsError) as refused:
        ask(**values)
    assert "changeit" not in str(refused.value)
    return str(refused.value)


def test_pem_store_in_file(tmp_path: Path) -> None:
    plain = identity(
        ssl_keystore_type="PEM", ssl_keystore_location=SERVER.write_pem(tmp_path / "a")
    )
    locked = identity(
        ssl_keystore_type="pem",
        ssl_keystore_location=SERVER.write_pem(tmp_path / "b", PASSWORD),
        ssl_key_password=PASSWORD,
    )

    assert plain.chain == locked.chain == CHAIN
    assert repr(plain) == "ServerIdentity(2 certificates)"


def test_pem_store_in_configuration() -> None:
    found = identity(
        ssl_keystore_type="PEM",
        ssl_keystore_key=SERVER.key_pem(PASSWORD),
        ssl_key_password=PASSWORD,
        ssl_keystore_certificate_chain=SERVER.chain_pem,
    )

    assert found.chain == CHAIN
    assert trusted(
        ssl_truststore_type="PEM", ssl_truststore_certificates=world().authority.pem
    ) == (world().authority.own.certificate,)


@pytest.mark.parametrize("store_type", ["PKCS12", "JKS", ""])
def test_pkcs12_store(tmp_path: Path, store_type: str) -> None:
    """The type JKS, which is the default, reads PKCS12 too; the chain is put in order."""
    above = Authority("Root")
    between = Authority("Between", above)
    server = between.server()
    file = tmp_path / "server.p12"
    file.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"x",
            server.key,
            server.certificate,
            server.issuers[::-1],
            BestAvailableEncryption(PASSWORD.encode()),
        )
    )

    found = identity(
        ssl_keystore_type=store_type, ssl_keystore_location=file, ssl_keystore_password=PASSWORD
    )

    assert found.chain == (server.certificate, *server.issuers)


@pytest.mark.interop
@needs_keytool
@pytest.mark.parametrize("store_type", ["JKS", "PKCS12"])
def test_jks_store(tmp_path: Path, store_type: str) -> None:
    pytest.importorskip("jks")
    file = jks(SERVER, tmp_path / "server.jks", key_password="another-0")

    found = identity(
        ssl_keystore_type=store_type,
        ssl_keystore_location=file,
        ssl_keystore_password=PASSWORD,
        ssl_key_password="another-0",
    )

    assert found.chain == CHAIN
    wrong = refusal(identity, ssl_keystore_location=file, ssl_keystore_password=PASSWORD)
    assert wrong.endswith("the password of the key 'own' is wrong (ssl.key.password)")
    wrong = refusal(identity, ssl_keystore_location=file, ssl_keystore_password="x")
    assert wrong.endswith("the password is wrong (ssl.keystore.password), or the store is damaged")
    # A key is trusted for its own certificate only, as in Java.
    assert trusted(ssl_truststore_location=file, ssl_truststore_password=PASSWORD) == CHAIN[:1]


@pytest.mark.interop
@needs_keytool
@pytest.mark.parametrize("store_type", ["JKS", "PKCS12"])
def test_trust_stores_of_keytool(tmp_path: Path, store_type: str) -> None:
    """Trusted certificates are read from both; JKS needs no password for them, as in Java."""
    pytest.importorskip("jks")
    other = Authority("Other")
    file = trust_store(tmp_path / "trusted", store_type, world().authority, other)
    both = {world().authority.own.certificate, other.own.certificate}

    assert set(trusted(ssl_truststore_location=file, ssl_truststore_password=PASSWORD)) == both
    if store_type == "JKS":
        assert set(trusted(ssl_truststore_location=file)) == both


def test_private_key_in_trust_store_is_not_trusted(tmp_path: Path) -> None:
    file = tmp_path / "server.p12"
    file.write_bytes(SERVER.pkcs12())

    assert trusted(ssl_truststore_location=file, ssl_truststore_password=PASSWORD) == CHAIN[:1]


def test_no_trust_store_trusts_nobody() -> None:
    assert trusted() is None


PEM_KEYS = {
    "ssl_keystore_type": "PEM",
    "ssl_keystore_key": SERVER.key_pem(),
    "ssl_keystore_certificate_chain": SERVER.chain_pem,
}


def values_of(store: str, words: str, folder: Path) -> dict[str, str]:
    """Return settings of words such as ``type=PEM``; a location is a file of the folder."""
    pairs = dict(word.split("=", 1) for word in words.split())
    if "location" in pairs:
        pairs["location"] = str(folder / pairs["location"])
    return {f"ssl_{store}_{key}": value for key, value in pairs.items()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("type=BCFKS", "type: found 'BCFKS'; allowed: JKS, PKCS12, PEM"),
        ("", "ssl.keystore.location: missing; listener DOOR uses SSL, which requires"),
        ("location=p12", "ssl.keystore.password: missing"),
        ("location=p12 password=x", "the password is wrong (ssl.keystore.password), or the store"),
        ("location=pem password=x", "found PEM; give ssl.keystore.type=PEM; allowed: a JKS or"),
        ("location=jceks password=x", "found a JCEKS store; allowed: a JKS or"),
        (f"location=trusted password={PASSWORD}", "found no private key with a certificate"),
        (
            "location=p12 type=PEM",
            "found data that is not PEM; allowed: PEM with a block PRIVATE KEY",
        ),
        (
            "location=pem type=PEM password=x",
            "ssl.keystore.password: not allowed with a PEM store; the",
        ),
        ("key=x", "ssl.keystore.key: allowed with ssl.keystore.type=PEM only"),
        (
            "key=x type=PEM",
            "ssl.keystore.certificate.chain: missing; a private key requires its certificate chain",
        ),
        (
            "certificate_chain=x type=PEM",
            "ssl.keystore.key: missing; a certificate chain requires its private key",
        ),
    ],
)
def test_invalid_key_stores_are_rejected(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "p12").write_bytes(SERVER.pkcs12())
    (tmp_path / "jceks").write_bytes(b"\xce\xce\xce\xce....")
    SERVER.write_pem(tmp_path / "pem")
    locked = BestAvailableEncryption(PASSWORD.encode())
    (tmp_path / "trusted").write_bytes(
        pkcs12.serialize_key_and_certificates(None, None, None, [CHAIN[1]], locked)
    )

    assert said in refusal(identity, **values_of("keystore", words, tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("type=X", "ssl.truststore.type: found 'X'"),
        ("password=x", "ssl.truststore.location: missing"),
        ("certificates=x", "ssl.truststore.certificates: allowed with ssl.truststore.type=PEM"),
        ("certificates=x type=PEM", "ssl.truststore.certificates: found data that is not PEM"),
        ("password=x type=PEM", "ssl.truststore.password: not allowed with a PEM store"),
        ("location=p12", "the password is missing (ssl.truststore.password)"),
        (
            "location=p12 certificates=x type=PEM",
            "ssl.truststore.location: not allowed together with ssl.truststore.certificates",
        ),
        ("location=other", "found something else; allowed: a JKS"),
    ],
)
def test_invalid_trust_stores_are_rejected(tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "p12").write_bytes(SERVER.pkcs12())
    (tmp_path / "other").write_bytes(b"other")

    assert said in refusal(trusted, **values_of("truststore", words, tmp_path))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ssl_keystore_location": "x"}, "location: not allowed together with ssl.keystore.key"),
        (
            {"ssl_keystore_certificate_chain": world().alice.chain_pem},
            "certificate.chain: the first certificate does not belong to the private key",
        ),
        (
            {"ssl_keystore_certificate_chain": "x"},
            "ssl.keystore.certificate.chain: found data that is not PEM",
        ),
    ],
)
def test_invalid_inline_keys_are_rejected(
    tmp_path: Path, values: dict[str, str], said: str
) -> None:
    if "ssl_keystore_location" in values:
        values = {"ssl_keystore_location": str(SERVER.write_pem(tmp_path / "x"))}

    assert said in refusal(identity, **{**PEM_KEYS, **values})


def test_jks_without_optional_package_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_jks(name: str, *others: Any) -> Any:
        if name == "jks":
            raise ImportError(name)
        return real(name, *others)

    (tmp_path / "old.jks").write_bytes(b"\xfe\xed\xfe\xed....")
    monkeypatch.setattr(builtins, "__import__", without_jks)

    said = refusal(identity, ssl_keystore_location=tmp_path / "old.jks", ssl_keystore_password="x")

    assert "install doorkeeper[jks], or convert it to PKCS12: keytool -importkeystore" in said


@pytest.mark.interop
def test_damaged_jks_store_is_rejected(tmp_path: Path) -> None:
    pytest.importorskip("jks")
    (tmp_path / "old.jks").write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\7")

    said = refusal(identity, ssl_keystore_location=tmp_path / "old.jks", ssl_keystore_password="x")

    assert said.endswith("old.jks: the store is damaged")
