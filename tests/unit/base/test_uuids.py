"""Random uuids in Kafka's text form."""

from __future__ import annotations

import base64

from doorkeeper.base.uuids import random_uuid


def octets_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def test_random_uuid_keeps_random_bits() -> None:
    """Of 16 random bytes only the six bits are changed that mark a version 4 uuid."""
    text = random_uuid(lambda count: b"\xff" * count)
    counted = random_uuid(lambda count: bytes(range(count)))

    assert text == "________T_-__________w"
    assert octets_of(text).hex() == "ffffffffffff4fffbfffffffffffffff"
    assert octets_of(counted).hex() == "000102030405460788090a0b0c0d0e0f"


def test_uuid_with_leading_dash_is_discarded() -> None:
    draws = iter([b"\xf8" + bytes(15), b"\xfb" + bytes(15), b"\x04" + bytes(15)])

    assert random_uuid(lambda _: next(draws)) == "BAAAAAAAQACAAAAAAAAAAA"
