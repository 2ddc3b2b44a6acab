"""Stored credentials, which verify a client's proof without the password.

Source: ``ScramCredential``, ``ScramFormatter``, ``ScramMechanism`` and ``TokenInformation`` of
kafka-clients 4.3.1.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, NamedTuple

DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""SCRAM mechanisms, each with the name of its hash in ``hashlib``."""

# Kafka's codes of the mechanisms. Source: org.apache.kafka.clients.admin.ScramMechanism.
MECHANISM_CODES: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}

MECHANISM_NAMES: Final = {code: name for name, code in MECHANISM_CODES.items()}

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
"""Kafka's bounds, of both mechanisms: the rounds that a client computes at each login."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_NONCE_BITS: Final = 130


class ScramCredential(NamedTuple):
    """A user's credential for one mechanism of SCRAM (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        # Neither repr shows a secret: tracebacks and logs may print these objects.
        return f"ScramCredential({self.iterations} iterations)"


def credential_of(mechanism: str, password: str, iterations: int, salt: bytes) -> ScramCredential:
    """Return the credential for a password, used as it is: Kafka applies no SASLprep.

    Costs one PBKDF2: 1 to 10 ms for Kafka's iterations, without the GIL.
    """
    digest = DIGESTS[mechanism]
    # A lone surrogate becomes "?", as in Java's String.getBytes.
    salted = hashlib.pbkdf2_hmac(digest, password.encode("utf-8", "replace"), salt, iterations)
    return salted_credential_of(mechanism, salted, iterations, salt)


def salted_credential_of(
    mechanism: str, salted_password: bytes, iterations: int, salt: bytes
) -> ScramCredential:
    """Return the credential for a password that the client has salted, as Kafka's tools do."""
    digest = DIGESTS[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", digest)
    server_key = hmac.digest(salted_password, b"Server Key", digest)
    return ScramCredential(salt, hashlib.new(digest, client_key).digest(), server_key, iterations)


def base_36(random_bytes: bytes) -> bytes:
    """Return 130 of at least 136 random bits in base 36: the form of Kafka's salts and nonces.

    Source: ``ScramFormatter.secureRandomString``.
    """
    number = int.from_bytes(random_bytes[:17], "big") >> (17 * 8 - _NONCE_BITS)
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).encode() or b"0"
