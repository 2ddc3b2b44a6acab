"""Password records: their form, their bounds, and that they fit one password only."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from doorkeeper.server.security.password_records import (
    PasswordRecord,
    UnusableRecord,
    as_bytes,
    parse,
    record_of,
)

SALT = bytes(range(16))
B64 = "AAECAwQFBgcICQoLDA0ODw"
HASH = "A" * 43


def test_record_matches_only_its_password() -> None:
    record = record_of("hush ä", SALT)

    assert record.text().startswith(f"$scrypt$ln=14,r=8,p=1${B64}$")
    assert parse(record.text()) == record
    assert record.matches(as_bytes("hush ä"))
    assert not record.matches(as_bytes("hush"))


def test_scrypt_matches_rfc_7914() -> None:
    """Scrypt as RFC 7914 has it, over the UTF-8 bytes."""
    made = hashlib.scrypt(b"hush", salt=SALT, n=16384, r=8, p=1, dklen=32, maxmem=1 << 27)

    assert record_of("hush", SALT).hash == made


@pytest.mark.parametrize("digest", ["sha256", "sha512"])
def test_passlib_records_are_accepted(digest: str) -> None:
    """PBKDF2 as passlib writes it, with dots for pluses."""
    made = hashlib.pbkdf2_hmac(digest, b"hush", SALT, 10_000, 32)
    record = PasswordRecord(digest, 10_000, 0, 0, SALT, made)
    text = record.text().replace("+", ".")

    assert text.startswith(f"$pbkdf2-{digest}$10000${B64}$")
    assert parse(text) == record
    assert parse(text).matches(b"hush")
    assert not parse(text).matches(b"hus")


def test_record_without_hash_matches_nothing() -> None:
    nobody = replace(record_of("", SALT), hash=b"")

    assert not nobody.matches(b"")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a password hash; expected"),
        ("secret-in-clear", "not a password hash; expected"),
        (f"$pbkdf2-md5$10000${B64}${HASH}", "not a password hash; expected"),
        (
            f"$scrypt$ln=11,r=8,p=1${B64}${HASH}",
            "found scrypt with ln=11, r=8; allowed: ln of 12",
        ),
        (f"$scrypt$ln=17,r=8,p=1${B64}${HASH}", "at most 64 MiB"),
        (f"$scrypt$ln=14,r=0,p=1${B64}${HASH}", "r of 1 or more"),
        (f"$scrypt$ln=14,r=8,p=5${B64}${HASH}", "found scrypt with p=5; allowed: 1 to 4"),
        (
            f"$pbkdf2-sha256$9999${B64}${HASH}",
            "found 9999 iterations; allowed: 10000 to 2000000",
        ),
        (f"$pbkdf2-sha256$2000001${B64}${HASH}", "2000001 iterations"),
        (f"$pbkdf2-sha256$10000$AAAA${HASH}", "found a salt of 3 bytes; allowed: 8 to 128"),
        (f"$pbkdf2-sha256$10000${B64}$AAAA", "found a hash of 3 bytes; allowed: 32 to 128"),
        (f"$pbkdf2-sha256$10000${B64}${'A' * 41}", "not base64"),
    ],
)
def test_invalid_records_are_rejected(text: str, said: str) -> None:
    with pytest.raises(UnusableRecord) as refused:
        parse(text)

    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert HASH not in str(refused.value)


def test_repr_hides_salt_and_hash() -> None:
    assert repr(record_of("hush", SALT)) == "PasswordRecord(scrypt, work=16384)"
    assert repr(PasswordRecord("sha256", 10_000, 0, 0, SALT, b"")) == (
        "PasswordRecord(sha256, work=10000)"
    )
