"""JSON that others wrote."""

from __future__ import annotations

import pytest

from doorkeeper.server.security.oauth.json_text import (
    InvalidJson,
    decode_base64url,
    json_object,
    lenient_json_object,
)

BAD = {
    "nothing": b"",
    "a list": b"[1]",
    "cut": b'{"a":',
    "not a number": b'{"a":NaN}',
    "a number that is too long": b'{"a":' + b"1" * 1001 + b"}",
    "a fraction that is too long": b'{"a":1.' + b"1" * 1000 + b"}",
    "too deep": b'{"a":' + b"[" * 100_000,
    "a control character": b'{"a":"\x01"}',
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_invalid_json_objects_are_rejected(data: bytes) -> None:
    for read in (json_object, lenient_json_object):
        with pytest.raises(InvalidJson):
            read(data)


def test_strict_json_rejects_duplicates_and_trailing_data() -> None:
    assert json_object(b' {"a":1} \r\n') == {"a": 1}
    for data in (b'{"a":1,"a":2}', b'{"a":{"b":1,"b":2}}', b'{"a":1}x', b'{"a":1}{}'):
        with pytest.raises(InvalidJson):
            json_object(data)


def test_lenient_json_uses_the_last_duplicate() -> None:
    assert lenient_json_object(b'\xef\xbb\xbf {"a":1,"a":2}}garbage') == {"a": 2}


def test_base64_url_encoding_is_required() -> None:
    assert decode_base64url("") == b""
    assert decode_base64url("_-8") == b"\xff\xef"
    for text in ("a", "aaaaa", "YQ==", "a+b/", "a b", "ä"):
        with pytest.raises(InvalidJson):
            decode_base64url(text)
