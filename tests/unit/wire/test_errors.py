"""doorkeeper_wire.errors."""

import pytest

from doorkeeper_wire.errors import (
    InvalidFrame,
    Malformed,
    Unencodable,
    UnknownApi,
    Unsupported,
    WireError,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Malformed("topics.name", 7, "null"), "topics.name at byte 7: null"),
        (InvalidFrame(200, 100), "frame of 200 bytes; at most 100"),
        (InvalidFrame(-1, 100), "frame of -1 bytes"),
        (UnknownApi(999, 3, 5), "api key 999, version 3: no such API"),
        (
            Unsupported("key", "'g' cannot be said in this version"),
            "key: 'g' cannot be said in this",
        ),
    ],
)
def test_texts(error: WireError, text: str) -> None:
    """Each error says what was found and where, and is a WireError."""
    assert str(error).startswith(text)
    assert isinstance(error, WireError)


def test_fields() -> None:
    """What a caller reacts to is an attribute."""
    malformed, unknown = Malformed("name", 3, "why"), UnknownApi(99, 2, 8)

    assert (malformed.field, malformed.offset, malformed.reason) == ("name", 3, "why")
    assert (unknown.api_key, unknown.api_version, unknown.correlation_id) == (99, 2, 8)
    assert Unencodable("key", "too long").field == "key"
    assert issubclass(Unsupported, Unencodable)
