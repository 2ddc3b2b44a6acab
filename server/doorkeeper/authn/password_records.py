"""What stands for a password in a users file: a salted hash that is slow to make.

    $scrypt$ln=14,r=8,p=1$<salt>$<hash>        what we write; ln is the logarithm of the cost
    $pbkdf2-sha256$600000$<salt>$<hash>        taken as well, also with sha512

It is the form of the PHC string format, as passlib writes it: salt and hash are base64 without
padding, where a dot may stand for a plus. What a record may cost is bounded in both directions:
one that is too cheap guards nothing, and one too dear would be the server's end.

Source: RFC 7914, RFC 8018; the PHC string format.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from typing import NamedTuple

COST_LOGARITHM = 14
BLOCK_SIZE = 8
SALT_BYTES = 16
HASH_BYTES = 32
MEMORY_BYTES_MAX = 64 << 20
"""What one check with scrypt may take; ours take a quarter of it."""

COST_LOGARITHM_MIN = 12
PARALLELISM_MAX = 4
ITERATIONS_MIN = 10_000
ITERATIONS_MAX = 2_000_000
SALT_BYTES_MIN = 8
FIELD_BYTES_MAX = 128

_FORM = re.compile(
    r"\$(?:scrypt\$ln=(?P<ln>\d{1,2}),r=(?P<r>\d{1,3}),p=(?P<p>\d{1,2})"
    r"|pbkdf2-(?P<digest>sha256|sha512)\$(?P<iterations>\d{1,8}))"
    r"\$(?P<salt>[A-Za-z0-9+/.]+)\$(?P<hash>[A-Za-z0-9+/.]+)",
    re.ASCII,
)


class UnusableRecord(ValueError):
    """A record is not of this form, or outside of the bounds; the text holds nothing of it."""


class PasswordRecord(NamedTuple):
    """A salted hash. ``digest`` is empty for scrypt, and that of PBKDF2 otherwise.

    ``work`` is N of scrypt or the iterations of PBKDF2; ``block`` and ``parallel`` are scrypt's r
    and p. With an empty ``hash`` it costs as much to check, and no password is right.
    """

    digest: str
    work: int
    block: int
    parallel: int
    salt: bytes
    hash: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest or 'scrypt'}, work={self.work})"

    def is_of(self, password: bytes) -> bool:
        """Say whether this is the password. Slow by intent: never to be called on the loop."""
        return hmac.compare_digest(self.hash, self.made(password))

    def text(self) -> str:
        """Return the record as a file has it."""
        if self.digest:
            cost = f"pbkdf2-{self.digest}${self.work}"
        else:
            cost = f"scrypt$ln={self.work.bit_length() - 1},r={self.block},p={self.parallel}"
        return f"${cost}${_written(self.salt)}${_written(self.hash)}"

    def made(self, password: bytes) -> bytes:
        """Return the hash of a password with this salt and cost."""
        length = len(self.hash) or HASH_BYTES
        if self.digest:
            return hashlib.pbkdf2_hmac(self.digest, password, self.salt, self.work, length)
        return hashlib.scrypt(
            password,
            salt=self.salt,
            n=self.work,
            r=self.block,
            p=self.parallel,
            maxmem=2 * MEMORY_BYTES_MAX,
            dklen=length,
        )


def record_of(password: str, salt: bytes) -> PasswordRecord:
    """Return a new record for a password; the salt is chance, at least ``SALT_BYTES`` of it."""
    empty = PasswordRecord("", 1 << COST_LOGARITHM, BLOCK_SIZE, 1, salt, bytes(HASH_BYTES))
    return empty._replace(hash=empty.made(as_bytes(password)))


def as_bytes(password: str) -> bytes:
    """Return the bytes of a password that are hashed; no text has none."""
    return password.encode("utf-8", "surrogatepass")


def parse(text: str) -> PasswordRecord:
    """Read a record.

    Raises:
        UnusableRecord: it is none, or too cheap, or too dear.

    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise UnusableRecord(
            "no password record; allowed: $scrypt$ln=...,r=...,p=...$salt$hash or"
            " $pbkdf2-sha256$iterations$salt$hash, as doorkeeper users-file writes them"
        )
    salt, made = _read(found["salt"]), _read(found["hash"])
    if not SALT_BYTES_MIN <= len(salt) <= FIELD_BYTES_MAX:
        raise UnusableRecord(
            f"a salt of {len(salt)} bytes; allowed: {SALT_BYTES_MIN} to {FIELD_BYTES_MAX}"
        )
    if not HASH_BYTES <= len(made) <= FIELD_BYTES_MAX:
        raise UnusableRecord(
            f"a hash of {len(made)} bytes; allowed: {HASH_BYTES} to {FIELD_BYTES_MAX}"
        )
    if found["digest"]:
        return _pbkdf2(found["digest"], int(found["iterations"]), salt, made)
    return _scrypt(int(found["ln"]), int(found["r"]), int(found["p"]), salt, made)


def _pbkdf2(digest: str, iterations: int, salt: bytes, made: bytes) -> PasswordRecord:
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise UnusableRecord(
            f"{iterations} iterations; allowed: {ITERATIONS_MIN} to {ITERATIONS_MAX}"
        )
    return PasswordRecord(digest, iterations, 0, 0, salt, made)


def _scrypt(ln: int, block: int, parallel: int, salt: bytes, made: bytes) -> PasswordRecord:
    memory = 128 * block << min(ln, 40)
    if ln < COST_LOGARITHM_MIN or block < 1 or memory > MEMORY_BYTES_MAX:
        raise UnusableRecord(
            f"scrypt with ln={ln}, r={block}; allowed: ln of {COST_LOGARITHM_MIN} or more, r of 1"
            f" or more, and at most {MEMORY_BYTES_MAX >> 20} MiB (128 r 2^ln)"
        )
    if not 1 <= parallel <= PARALLELISM_MAX:
        raise UnusableRecord(f"scrypt with p={parallel}; allowed: 1 to {PARALLELISM_MAX}")
    return PasswordRecord("", 1 << ln, block, parallel, salt, made)


def _written(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").decode()


def _read(text: str) -> bytes:
    padded = text.replace(".", "+") + "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(padded)
    except binascii.Error:
        raise UnusableRecord("a salt or a hash that is no base64") from None
