"""doorkeeper.dissector.conversation."""

from __future__ import annotations

from doorkeeper.dissector.conversation import Conversation
from doorkeeper.dissector.frame_cutter import Frame
from testkit.sample_frames import (
    CREATE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBED,
    OLD_HANDSHAKE,
    OLD_HANDSHAKE_ANSWER,
    with_size,
)

MAX = 1000


def frame(data: bytes) -> Frame:
    return Frame(0, data)


def test_responses_are_matched_by_correlation_id() -> None:
    """In any order, each once."""
    talk = Conversation(MAX)
    talk.request(frame(DESCRIBE_ACLS))
    talk.request(frame(CREATE_ACLS))
    created = with_size(b"\0\0\0\x08" + b"\0\0\0\0" + b"\0\0\0\0")

    assert talk.response(frame(created)).api == "CreateAcls"
    assert talk.response(frame(DESCRIBED)).api == "DescribeAcls"
    assert talk.response(frame(DESCRIBED)).api == ""


def test_short_frames_match_nothing() -> None:
    """A response without a whole correlation id is broken, and no token."""
    talk = Conversation(MAX)
    found = talk.response(frame(with_size(b"\0\0")))
    list(found.fields())

    assert (found.kind, found.api) == ("response", "")
    assert found.error is not None


def test_tokens_without_headers() -> None:
    """They follow a handshake of version 0, until a frame is a request from end to end."""
    talk = Conversation(MAX)
    token = frame(with_size(b"\0alice\0password"))

    assert talk.request(frame(OLD_HANDSHAKE)).kind == "request"
    assert talk.response(frame(OLD_HANDSHAKE_ANSWER)).api == "SaslHandshake"
    assert talk.request(token).kind == "token"
    assert talk.response(frame(with_size(b""))).kind == "token"
    assert talk.request(frame(DESCRIBE_ACLS)).kind == "request"
    assert talk.request(token).kind == "request"
    assert talk.response(frame(DESCRIBED)).kind == "response"


def test_an_unknown_api_is_answered_by_nothing_known() -> None:
    """Its response is not decoded, and nothing fails."""
    talk = Conversation(MAX)
    talk.request(frame(DESCRIBE_ACLS[:4] + b"\0\xc8" + DESCRIBE_ACLS[6:]))

    found = talk.response(frame(DESCRIBED))
    list(found.fields())

    assert "not seen" in found.note


def test_requests_that_nobody_answers_are_forgotten() -> None:
    """The oldest of more than a thousand."""
    talk = Conversation(MAX)
    for number in range(1002):
        talk.request(frame(DESCRIBE_ACLS[:8] + number.to_bytes(4, "big") + DESCRIBE_ACLS[12:]))

    assert talk.response(frame(with_size(b"\0\0\0\1"))).api == ""
    assert talk.response(frame(with_size(b"\0\0\0\2"))).api == "DescribeAcls"
