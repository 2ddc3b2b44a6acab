"""An authority of a test's own, and the certificates that it signs."""

from __future__ import annotations

import datetime as dt
import ipaddress
import subprocess
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PASSWORD = "changeit-0"
BEGIN = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
END = dt.datetime(2120, 1, 1, tzinfo=dt.UTC)

ATTRIBUTES = {
    "CN": NameOID.COMMON_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "C": NameOID.COUNTRY_NAME,
    "emailAddress": NameOID.EMAIL_ADDRESS,
}


def subject(*attributes: tuple[str, str]) -> x509.Name:
    """Return a name, its attributes in the order of the certificate."""
    return x509.Name([x509.NameAttribute(ATTRIBUTES[key], value) for key, value in attributes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A key, its certificate, and those of the authorities above it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuers: tuple[x509.Certificate, ...] = ()

    @property
    def der(self) -> bytes:
        """The certificate's bytes."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> str:
        """The certificate alone."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def chain_pem(self) -> str:
        """The certificate and its issuers."""
        chain = (self.certificate, *self.issuers)
        return "".join(each.public_bytes(Encoding.PEM).decode() for each in chain)

    def key_pem(self, password: str | None = None) -> str:
        """Return the key, PKCS#8."""
        how = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how).decode()

    def pkcs12(self, password: str = PASSWORD) -> bytes:
        """Return a key store."""
        return pkcs12.serialize_key_and_certificates(
            b"own",
            self.key,
            self.certificate,
            self.issuers,
            BestAvailableEncryption(password.encode()),
        )

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        """Write key and chain into one file, as Kafka wants them."""
        path.write_text(self.key_pem(password) + self.chain_pem)
        return path


@dataclass(slots=True)
class Authority:
    """Signs certificates, and lists those that it has revoked."""

    name: str = "Test Authority"
    above: Authority | None = None
    identifiers: bool = True
    """Without key identifiers, as many private authorities have it, strict clients refuse."""
    own: Certified = field(init=False)

    def __post_init__(self) -> None:
        """Make the authority's own key; one above signs it, or it does so itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = subject(("O", "Example"), ("CN", self.name))
        by = self.above.own if self.above is not None else None
        builder = (
            self._builder(name, by.certificate.subject if by else name, key, by.key if by else key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=True,
                    crl_sign=True,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
        )
        certificate = builder.sign(by.key if by else key, hashes.SHA256())
        issuers = (by.certificate, *by.issuers) if by else ()
        self.own = Certified(key=key, certificate=certificate, issuers=issuers)

    @property
    def pem(self) -> str:
        """The authority's certificate."""
        return self.own.certificate.public_bytes(Encoding.PEM).decode()

    def certify(
        self,
        *attributes: tuple[str, str],
        hosts: Iterable[str] = (),
        usage: x509.ObjectIdentifier | None = None,
        until: dt.datetime = END,
    ) -> Certified:
        """Return a new key with a certificate for a name."""
        return self.certify_name(subject(*attributes), hosts=hosts, usage=usage, until=until)

    def certify_name(
        self,
        name: x509.Name,
        *,
        hosts: Iterable[str] = (),
        usage: x509.ObjectIdentifier | None = None,
        until: dt.datetime = END,
    ) -> Certified:
        """Return a new key with a certificate for a name of any attributes."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.own.certificate.subject
        builder = self._builder(name, issuer, key, self.own.key, until)
        names = [_alternative(host) for host in hosts]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        certificate = builder.sign(self.own.key, hashes.SHA256())
        issuers = (self.own.certificate, *self.own.issuers)
        return Certified(key=key, certificate=certificate, issuers=issuers)

    def server(self) -> Certified:
        """Return a certificate for this machine."""
        return self.certify(
            ("CN", "localhost"),
            hosts=("localhost", "127.0.0.1"),
            usage=ExtendedKeyUsageOID.SERVER_AUTH,
        )

    def client(self, name: str) -> Certified:
        """Return a certificate for a client."""
        return self.certify(
            ("C", "DE"),
            ("O", "Example, Inc"),
            ("OU", "ServiceUsers"),
            ("CN", name),
            usage=ExtendedKeyUsageOID.CLIENT_AUTH,
        )

    def revoked(
        self, *certified: Certified, until: dt.datetime = END
    ) -> x509.CertificateRevocationList:
        """Return the list of what was revoked."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.own.certificate.subject)
            .last_update(BEGIN)
            .next_update(until)
        )
        for each in certified:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(each.certificate.serial_number)
                .revocation_date(BEGIN)
                .build()
            )
        return builder.sign(self.own.key, hashes.SHA256())

    def _builder(
        self,
        name: x509.Name,
        issuer: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        issuer_key: ec.EllipticCurvePrivateKey,
        until: dt.datetime = END,
    ) -> x509.CertificateBuilder:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(BEGIN)
            .not_valid_after(until)
        )
        if not self.identifiers:
            return builder
        # Clients of Python 3.13 require both (VERIFY_X509_STRICT).
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        above = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        return builder.add_extension(own, critical=False).add_extension(above, critical=False)


def crl_pem(*lists: x509.CertificateRevocationList) -> str:
    """Return lists as PEM."""
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in lists)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One authority with a server and some clients, and another that nobody trusts."""

    authority: Authority
    server: Certified
    alice: Certified
    bob: Certified
    stranger: Certified


@cache
def world() -> World:
    """Return the world of a run; it never changes."""
    authority = Authority()
    return World(
        authority=authority,
        server=authority.server(),
        alice=authority.client("alice"),
        bob=authority.client("bob"),
        stranger=Authority("Another Authority").client("alice"),
    )


def keytool(*words: str) -> None:
    """Run Java's keytool with the password of the tests."""
    passwords = ("-storepass", PASSWORD, "-noprompt")
    subprocess.run(["keytool", *words, *passwords], check=True, capture_output=True)


def jks(certified: Certified, path: Path, *, key_password: str = PASSWORD) -> Path:
    """Write a key store of the old type JKS."""
    source = path.with_suffix(".source.p12")
    source.write_bytes(certified.pkcs12())
    path.unlink(missing_ok=True)
    keytool(
        *("-importkeystore", "-srckeystore", str(source), "-srcstoretype", "PKCS12"),
        *("-srcstorepass", PASSWORD, "-destkeystore", str(path), "-deststoretype", "JKS"),
        *("-deststorepass", PASSWORD, "-destkeypass", key_password, "-srcalias", "own"),
    )
    return path


def trust_store(path: Path, store_type: str, *authorities: Authority) -> Path:
    """Write a trust store with keytool, of the type JKS or PKCS12."""
    path.unlink(missing_ok=True)
    for number, authority in enumerate(authorities):
        file = path.with_suffix(f".{number}.pem")
        file.write_text(authority.pem)
        keytool(
            *("-importcert", "-file", str(file), "-alias", f"ca{number}"),
            *("-keystore", str(path), "-storetype", store_type),
        )
    return path
