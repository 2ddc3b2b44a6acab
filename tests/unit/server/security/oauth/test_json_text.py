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
def test_what_is_no_object_is_refused(data: bytes) -> None:
    """Both readers refuse it with an error that shows nothing of it."""
    for read in (json_object, lenient_json_object):
        with pytest.raises(InvalidJson):
            read(data)


def test_strictly_names_are_unique_and_nothing_follows() -> None:
    """Signed tokens and key sets are read like this; white space may stand around."""
    assert json_object(b' {"a":1} \r\n') == {"a": 1}
    for data in (b'{"a":1,"a":2}', b'{"a":{"b":1,"b":2}}', b'{"a":1}x', b'{"a":1}{}'):
        with pytest.raises(InvalidJson):
            json_object(data)


def test_leniently_the_last_counts() -> None:
    """Tokens without a signature are read as Jackson does."""
    assert lenient_json_object(b'\xef\xbb\xbf {"a":1,"a":2}}garbage') == {"a": 2}


def test_base64_is_for_urls() -> None:
    """No padding, no other signs, no single character at the end."""
    assert decode_base64url("") == b""
    assert decode_base64url("_-8") == b"\xff\xef"
    for text in ("a", "aaaaa", "YQ==", "a+b/", "a b", "ä"):
        with pytest.raises(InvalidJson):
            decode_base64url(text)
