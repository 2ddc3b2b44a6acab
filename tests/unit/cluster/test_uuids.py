"""Random uuids in Kafka's text form."""

from __future__ import annotations

import base64
import uuid

from doorkeeper.cluster.uuids import random_uuid


def octets_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def test_a_random_uuid_keeps_the_random_bytes() -> None:
    """Of 16 random bytes only the six bits are changed that mark a version 4 uuid."""
    text = random_uuid(lambda count: b"\xff" * count)

    assert text == "________T_-__________w"
    assert octets_of(text) == bytes.fromhex("ffffffffffff4fffbfffffffffffffff")
    counted = random_uuid(lambda count: bytes(range(count)))
    assert octets_of(counted) == bytes.fromhex("00010203040546078809" + "0a0b0c0d0e0f")


def test_its_bytes_are_a_uuid_of_version_4() -> None:
    """Python reads the bytes as a random uuid of the standard variant."""
    octets = octets_of(random_uuid(bytes))

    assert uuid.UUID(bytes=octets).version == 4
    assert uuid.UUID(bytes=octets).variant == uuid.RFC_4122


def test_one_that_begins_with_a_dash_is_thrown_away() -> None:
    """The first draw that does not begin with "-" is taken."""
    draws = iter([b"\xf8" + bytes(15), b"\xfb" + bytes(15), b"\x04" + bytes(15)])

    assert random_uuid(lambda _: next(draws)) == "BAAAAAAAQACAAAAAAAAAAA"
