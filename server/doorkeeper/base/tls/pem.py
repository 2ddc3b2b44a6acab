"""PEM as Kafka reads it: from a file, or from a value on one line.

White space is ignored, so that a value continued over several lines of a properties file is the
same as a file. Text between the blocks is skipped.

Source: Kafka's ``DefaultSslEngineFactory.PemStore`` and ``PemParser`` (4.3.1).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import Certificate, CertificateRevocationList

_BEGIN = re.compile(rb"-----BEGIN +([A-Z0-9]+(?: [A-Z0-9]+)*) *-----")


class PemError(ValueError):
    """The text is not PEM, or not of the expected kind; the error text contains no part of it."""


class Block(Struct, frozen=True):
    """One block: its label and its decoded bytes."""

    label: str
    der: bytes


def blocks_of(data: bytes, kind: str = "") -> list[Block]:
    """Return the blocks, in order. Those whose label does not end with ``kind`` have no bytes."""
    blocks = []
    at = 0
    while (begin := _BEGIN.search(data, at)) is not None:
        label = begin[1].decode()
        end = re.compile(rb"-----END +" + re.escape(begin[1]) + rb" *-----").search(
            data, begin.end()
        )
        if end is None:
            raise PemError(f"the block {label} has no end line")
        at = end.end()
        # A certificate can be read from a file whose private key is nobody's business.
        if not label.endswith(kind):
            blocks.append(Block(label, b""))
            continue
        body = data[begin.end() : end.start()]
        if b"Proc-Type" in body:
            raise PemError(
                f"the block {label} uses OpenSSL's legacy encryption; convert it: openssl pkcs8"
                " -topk8 -in old.pem -out new.pem"
            )
        try:
            der = base64.b64decode(b"".join(body.split()), validate=True)
        except binascii.Error:
            raise PemError(f"the block {label} is not base64") from None
        blocks.append(Block(label, der))
    return blocks


def certificates_of(data: bytes) -> list[Certificate]:
    """Return the certificates of a text, in order; other blocks are skipped."""
    from cryptography.x509 import load_der_x509_certificate

    certificates = []
    for number, block in enumerate(_of_kind(data, "CERTIFICATE"), 1):
        try:
            certificates.append(load_der_x509_certificate(block.der))
        except Exception:  # of a version of X.509 that is none, no ValueError
            raise PemError(f"certificate {number} is malformed") from None
    return certificates


def revocations_of(data: bytes) -> list[CertificateRevocationList]:
    """Return the revocation lists of a PEM text, or the single one in DER."""
    from cryptography.x509 import load_der_x509_crl

    # DER begins with the tag of a SEQUENCE, PEM with ASCII text.
    in_der = data[:1] == b"\x30"
    lists = [data] if in_der else [block.der for block in _of_kind(data, "X509 CRL")]
    revocations = []
    for number, der in enumerate(lists, 1):
        try:
            revocations.append(load_der_x509_crl(der))
        except Exception:  # as with certificates
            raise PemError(f"revocation list {number} is malformed") from None
    return revocations


def private_key_of(data: bytes, password: str | None) -> PrivateKeyTypes:
    """Return the only private key of a text; other blocks are skipped.

    Raises:
        PemError: there is none, or several, it is malformed, or the password is wrong.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    keys = _of_kind(data, "PRIVATE KEY")
    if len(keys) > 1:
        raise PemError(f"found {len(keys)} private keys; allowed: one")
    encrypted = keys[0].label == "ENCRYPTED PRIVATE KEY"
    if encrypted and password is None:
        raise PemError("the private key is encrypted: set ssl.key.password")
    try:
        # A password for a key that has none is no error, as in Kafka.
        return load_der_private_key(
            keys[0].der, password.encode() if encrypted and password is not None else None
        )
    except UnsupportedAlgorithm:
        raise PemError("the type or encryption of the private key is not supported") from None
    except (ValueError, TypeError):
        if encrypted:
            raise PemError("the password is wrong, or the private key is malformed") from None
        raise PemError("the private key is malformed") from None


def _of_kind(data: bytes, kind: str) -> list[Block]:
    blocks = blocks_of(data, kind)
    matching = [block for block in blocks if block.label.endswith(kind)]
    if not matching:
        labels = ", ".join(dict.fromkeys(block.label for block in blocks)) or "data that is not PEM"
        raise PemError(f"found {labels}; allowed: PEM with a block {kind}")
    return matching
