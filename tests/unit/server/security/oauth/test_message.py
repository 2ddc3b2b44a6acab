"""The first message of a client."""

from __future__ import annotations

import pytest

from doorkeeper.server.security.oauth.mechanism import InvalidMessage, parse_first
from testkit.tokens import first_message


def test_token_is_parsed_beside_extensions() -> None:
    message = first_message("a.b.c", "traceId=42 x", "logicalCluster=lkc-1")

    assert parse_first(message) == ("a.b.c", "")


BAD = {
    "nothing": b"",
    "channel binding": b"p=tls,,\x01auth=Bearer t\x01\x01",
    "more behind the end": b"n,,\x01auth=Bearer t\x01\x01x",
    "no token": b"n,,\x01traceId=1\x01\x01",
    "two tokens": b"n,,\x01auth=Bearer t\x01auth=Bearer u\x01\x01",
    "another scheme": b"n,,\x01auth=Basic t\x01\x01",
    "a token with padding inside": b"n,,\x01auth=Bearer t=u\x01\x01",
    "a value that is empty": b"n,,\x01auth=Bearer t\x01trace=\x01\x01",
    "a value with a control character": b"n,,\x01auth=Bearer t\x01trace=\x02\x01\x01",
    "an authorization id with a comma": b"n,a=b,c,\x01auth=Bearer t\x01\x01",
    "no authorization id": b"n,a=,\x01auth=Bearer t\x01\x01",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_malformed_messages_are_rejected(data: bytes) -> None:
    """What Kafka's patterns refuse is refused."""
    with pytest.raises(InvalidMessage):
        parse_first(data)


def test_errors_hide_secrets() -> None:
    with pytest.raises(InvalidMessage) as failed:
        parse_first(b"n,,\x01auth=Bearer hush\x01auth=Bearer hush\x01\x01")

    assert "hush" not in str(failed.value)


def test_long_message_is_parsed_in_linear_time() -> None:
    parts = [b"n,a=" + b"=2C" * 100_000, b"n,,\x01" + b"a=b\x01" * 100_000, b"n,,\x01a=" * 60_000]

    for data in parts:
        with pytest.raises(InvalidMessage):
            parse_first(data)


def test_number_of_pairs_is_limited() -> None:
    def message(pairs: int) -> bytes:
        return first_message("t", *("a" * number + "=b" for number in range(1, pairs)))

    assert parse_first(message(1000)) == ("t", "")
    with pytest.raises(InvalidMessage):
        parse_first(message(1001))
