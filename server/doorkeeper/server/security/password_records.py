"""Password records of a users file: salted, deliberately slow hashes.

    $scrypt$ln=14,r=8,p=1$<salt>$<hash>        written here; ln is the logarithm of the cost
    $pbkdf2-sha256$600000$<salt>$<hash>        accepted as well, also with sha512

The format is the PHC string format, as passlib writes it: salt and hash are base64 without padding,
where a dot may replace a plus. The cost of a record is bounded in both directions: a cheap hash
protects nothing, and an expensive one would exhaust the server.

Source: RFC 7914, RFC 8018; the PHC string format.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re

from msgspec import Struct
from msgspec.structs import replace

COST_LOGARITHM = 14
BLOCK_SIZE = 8
SALT_BYTES = 16
HASH_BYTES = 32
# The memory of one scrypt check, 128 r N bytes; records written here need 16 MiB.
MEMORY_BYTES_MAX = 64 << 20
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
    """A record is malformed or out of bounds; the text contains no part of it."""


class PasswordRecord(Struct, frozen=True):
    """A salted hash. ``digest`` is that of PBKDF2, empty for scrypt.

    ``work`` is N of scrypt or the iterations of PBKDF2; ``block`` and ``parallel`` are scrypt's r
    and p. With an empty ``hash`` a check costs the same, and fails for every password.
    """

    digest: str
    work: int
    block: int
    parallel: int
    salt: bytes
    hash: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest or 'scrypt'}, work={self.work})"

    def matches(self, password: bytes) -> bool:
        """Return whether this is the password. Slow by design: do not call it on the event loop."""
        return hmac.compare_digest(self.hash, self.derive(password))

    def text(self) -> str:
        """Return the record in the format of the file."""
        if self.digest:
            cost = f"pbkdf2-{self.digest}${self.work}"
        else:
            cost = f"scrypt$ln={self.work.bit_length() - 1},r={self.block},p={self.parallel}"
        return f"${cost}${_base64(self.salt)}${_base64(self.hash)}"

    def derive(self, password: bytes) -> bytes:
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
            # OpenSSL counts more than 128 r N bytes against its limit.
            maxmem=2 * MEMORY_BYTES_MAX,
            dklen=length,
        )


def record_of(password: str, salt: bytes) -> PasswordRecord:
    """Return a new record for a password; ``salt`` is random, at least ``SALT_BYTES`` long."""
    empty = PasswordRecord("", 1 << COST_LOGARITHM, BLOCK_SIZE, 1, salt, bytes(HASH_BYTES))
    return replace(empty, hash=empty.derive(as_bytes(password)))


def as_bytes(password: str) -> bytes:
    """Return the bytes to hash; surrogates pass, so that every str has some."""
    return password.encode("utf-8", "surrogatepass")


def parse(text: str) -> PasswordRecord:
    """Parse a record.

    Raises:
        UnusableRecord: it is malformed, too cheap or too expensive.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UnusableRecord(
            "not a password hash; expected: $scrypt$ln=...,r=...,p=...$salt$hash or"
            " $pbkdf2-sha256$iterations$salt$hash, as written by doorkeeper users-file"
        )
    salt, derived = _decode(match["salt"]), _decode(match["hash"])
    if not SALT_BYTES_MIN <= len(salt) <= FIELD_BYTES_MAX:
        raise UnusableRecord(
            f"found a salt of {len(salt)} bytes; allowed: {SALT_BYTES_MIN} to {FIELD_BYTES_MAX}"
        )
    if not HASH_BYTES <= len(derived) <= FIELD_BYTES_MAX:
        raise UnusableRecord(
            f"found a hash of {len(derived)} bytes; allowed: {HASH_BYTES} to {FIELD_BYTES_MAX}"
        )
    if match["digest"]:
        iterations = int(match["iterations"])
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise UnusableRecord(
                f"found {iterations} iterations; allowed: {ITERATIONS_MIN} to {ITERATIONS_MAX}"
            )
        return PasswordRecord(match["digest"], iterations, 0, 0, salt, derived)
    ln, block, parallel = (int(match[name]) for name in ("ln", "r", "p"))
    memory = 128 * block << min(ln, 40)
    if ln < COST_LOGARITHM_MIN or block < 1 or memory > MEMORY_BYTES_MAX:
        raise UnusableRecord(
            f"found scrypt with ln={ln}, r={block}; allowed: ln of {COST_LOGARITHM_MIN} or"
            f" more, r of 1 or more, and at most {MEMORY_BYTES_MAX >> 20} MiB (128 r 2^ln)"
        )
    if not 1 <= parallel <= PARALLELISM_MAX:
        raise UnusableRecord(f"found scrypt with p={parallel}; allowed: 1 to {PARALLELISM_MAX}")
    return PasswordRecord("", 1 << ln, block, parallel, salt, derived)


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    padded = text.replace(".", "+") + "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(padded)
    except binascii.Error:
        raise UnusableRecord("the salt or hash is not base64") from None
