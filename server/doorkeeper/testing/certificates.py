"""A CA for tests, with a certificate for the server and one for each client.

The keys are for tests only: elliptic curves, created in a millisecond, deleted with their folder.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

# Fixed and long: a test must not fail because of the date.
BEGIN: Final = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
END: Final = dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


class Certificate(Struct, frozen=True):
    """PEM files: the chain, the key, and both in one, as Java needs them."""

    chain: Path
    key: Path
    store: Path


class Authority:
    """Signs certificates, and writes them into a folder."""

    def __init__(self, folder: Path) -> None:
        """Create the CA's key and certificate."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "doorkeeper testing")])
        self._own = (
            _builder(self._name, self._name, self._key.public_key(), self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / "ca.pem"
        """The CA certificate, for clients."""
        self.file.write_bytes(self._own.public_bytes(Encoding.PEM))
        self._clients: dict[str, Certificate] = {}

    def server(self) -> Certificate:
        names = x509.SubjectAlternativeName(
            [
                x509.DNSName("localhost"),
                x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
                x509.IPAddress(ipaddress.ip_address("::1")),
            ]
        )
        return self._certificate("server", "localhost", ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str) -> Certificate:
        """Return the certificate of a client, whose principal is ``User:CN=name``."""
        if name not in self._clients:
            file = f"client-{len(self._clients)}"
            self._clients[name] = self._certificate(file, name, ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._clients[name]

    def _certificate(
        self,
        file: str,
        name: str,
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None = None,
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(
            subject, self._name, key.public_key(), self._key.public_key()
        ).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        chain = b"".join(
            certificate.public_bytes(Encoding.PEM)
            for certificate in (builder.sign(self._key, hashes.SHA256()), self._own)
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        issued = Certificate(*(self._folder / f"{file}{end}" for end in (".crt", ".key", ".pem")))
        issued.chain.write_bytes(chain)
        for path, content in ((issued.key, private), (issued.store, private + chain)):
            path.touch(mode=0o600)
            path.write_bytes(content)
        return issued


def _builder(
    name: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    # Clients of Python 3.13 reject a certificate without both identifiers (VERIFY_X509_STRICT).
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(END)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
        )
    )


_SIGNS: Final = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
