from __future__ import annotations

import base64
import uuid

import pytest

from doorkeeper.storage.cluster_id import check_form, random_uuid
from doorkeeper.storage.contract import StorageError


def octets_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def test_a_random_uuid_keeps_the_random_bytes() -> None:
    """Of 16 random bytes only the six bits are changed that mark a version 4 uuid."""
    text = random_uuid(lambda count: b"\xff" * count)

    assert text == "________T_-__________w"
    assert octets_of(text) == bytes.fromhex("ffffffffffff4fffbfffffffffffffff")


def test_its_bytes_are_a_uuid_of_version_4() -> None:
    """Python reads the bytes as a random uuid of the standard variant."""
    octets = octets_of(random_uuid(bytes))

    assert uuid.UUID(bytes=octets).version == 4
    assert uuid.UUID(bytes=octets).variant == uuid.RFC_4122


def test_one_that_begins_with_a_dash_is_thrown_away() -> None:
    """The first draw that does not begin with "-" is taken."""
    draws = iter([b"\xf8" + bytes(15), b"\xfb" + bytes(15), b"\x04" + bytes(15)])

    assert random_uuid(lambda _: next(draws)) == "BAAAAAAAQACAAAAAAAAAAA"


@pytest.mark.parametrize("given", ["MkU3OEVBNTcwNTJENDM2Qg", "-_-_-_-_-_-_-_-_-_-_-_"])
def test_kafkas_form_is_accepted(given: str) -> None:
    """22 characters of URL-safe base64 are a cluster id, whoever made them."""
    check_form(given)


@pytest.mark.parametrize(
    "given", ["", "short", "MkU3OEVBNTcwNTJENDM2Qg==", "MkU3OEVBNTcwNTJENDM2Q+", "a" * 22 + "\n"]
)
def test_another_form_is_refused(given: str) -> None:
    """The error shows what was given and says what a cluster id looks like."""
    with pytest.raises(StorageError) as raised:
        check_form(given)

    assert repr(given) in str(raised.value)
    assert "22 characters" in str(raised.value)
