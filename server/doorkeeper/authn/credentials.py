"""What a server keeps so that it can check a client's proof, and never a password.

Source: ``ScramCredential``, ``ScramFormatter``, ``ScramMechanism`` and ``TokenInformation`` of
kafka-clients 4.3.1.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.acl.model import Principal

DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The mechanisms of SCRAM, and the hash of each as Python calls it."""

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
"""Kafka's bounds, of both mechanisms. A client computes so many rounds at each login."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_NONCE_BITS: Final = 130


class ScramCredential(NamedTuple):
    """A user's credential for one mechanism of SCRAM (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"ScramCredential({self.iterations} iterations)"


class TokenLogin(NamedTuple):
    """What a delegation token needs to log in. ``expiry_ms`` is a time of the wall clock."""

    owner: Principal
    hmac: bytes
    expiry_ms: int

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"TokenLogin(of {self.owner})"


def credential_of(mechanism: str, password: str, iterations: int, salt: bytes) -> ScramCredential:
    """Return what to keep of a password, which is taken as it is: Kafka prepares no text.

    The cost is that of the iterations: 1 to 10 ms, without Python's global lock.
    """
    digest = DIGESTS[mechanism]
    salted = hashlib.pbkdf2_hmac(digest, password.encode("utf-8", "replace"), salt, iterations)
    return salted_credential_of(mechanism, salted, iterations, salt)


def salted_credential_of(
    mechanism: str, salted_password: bytes, iterations: int, salt: bytes
) -> ScramCredential:
    """Return what to keep where the client has salted the password, as Kafka's tools do."""
    digest = DIGESTS[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", digest)
    server_key = hmac.digest(salted_password, b"Server Key", digest)
    return ScramCredential(salt, hashlib.new(digest, client_key).digest(), server_key, iterations)


def base_36(random_bytes: bytes) -> bytes:
    """Return 130 of at least 136 random bits as digits and letters: a salt or a nonce of Kafka's.

    Source: ``ScramFormatter.secureRandomString``.
    """
    number = int.from_bytes(random_bytes[:17], "big") >> (17 * 8 - _NONCE_BITS)
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).encode() or b"0"
