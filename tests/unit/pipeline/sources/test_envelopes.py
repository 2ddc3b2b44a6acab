"""What collectors put around lines and records."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.sources.envelopes import (
    CRI,
    EXPORT,
    FIELD,
    OBJECT,
    PLAIN,
    Envelope,
    continuation,
    envelopes_of,
    unwrap,
    without_prefix,
)

KCAT = '{"topic":"t","partition":3,"offset":7,"ts":1,"key":null,"payload":"{\\"a\\":1}"}'


@pytest.mark.parametrize(
    ("line", "envelope", "contents"),
    [
        ('{"log":"a b\\n","stream":"stdout","time":"x"}', Envelope(OBJECT, "log"), ["a b"]),
        ("2026-10-21T13:54:30.714123456Z stdout F a b", Envelope(CRI), ["a b"]),
        (KCAT, Envelope(OBJECT, "payload"), ['{"a":1}']),
        ('{"schema":null,"payload":{"a":1}}', Envelope(OBJECT, "payload"), ['{"a":1}']),
        ('{"event":{"original":"a"}}', Envelope(OBJECT, "event.original"), ["a"]),
        ('{"event.original":"a"}', Envelope(OBJECT, "event.original"), ["a"]),
        ('[{"message":"a"},{"message":"b"}]', Envelope(OBJECT, "message"), ["a", "b"]),
        ('{"message":"a"} {"message":"b"}', Envelope(OBJECT, "message"), ["a", "b"]),
        ('{"events":[{"message":"a"}]}', Envelope(OBJECT, "events[].message"), ["a"]),
        ('    "textPayload": "a \\"b\\"\\n",', Envelope(FIELD, "textPayload"), ['a "b"']),
        ("MESSAGE=a b", Envelope(EXPORT), ["a b"]),
        ("[2026-10-21 13:54:30,714] INFO a b", PLAIN, ["[2026-10-21 13:54:30,714] INFO a b"]),
        ('{"log":"a b\\n"', PLAIN, ['{"log":"a b\\n"']),
    ],
)
def test_envelope_kinds_are_detected(line: str, envelope: Envelope, contents: list[str]) -> None:
    assert next(iter(envelopes_of(line))) == envelope
    assert [each.content for each in unwrap(envelope, line)] == contents


def test_split_lines_are_joined() -> None:
    """Docker and container runtimes cut lines of 16 kB; Fluent Bit says whether one was."""

    def is_partial(envelope: Envelope, line: str) -> bool:
        return unwrap(envelope, line)[0].partial

    log = Envelope(OBJECT, "log")
    assert is_partial(log, '{"log":"a","stream":"s","time":"t"}')
    assert is_partial(log, '{"log":"a","logtag":"P"}')
    assert not is_partial(log, '{"log":"a","stream":"s","logtag":"F","time":"t"}')
    assert is_partial(Envelope(CRI), "2026-10-21T13:54:30.7Z stdout P a")
    assert not is_partial(Envelope(CRI), "2026-10-21T13:54:30.7Z stdout F a")


def test_topic_records_have_positions() -> None:
    """Topic, partition and offset name it; Kafka Connect writes none of them."""
    envelope = Envelope(OBJECT, "payload")
    assert unwrap(envelope, KCAT)[0].identity == "t-3@7"
    assert unwrap(envelope, '{"schema":null,"payload":""}')[0].identity == ""


@pytest.mark.parametrize(
    ("envelope", "line"),
    [
        (Envelope(CRI), "[2026"),
        (Envelope(OBJECT, "log"), "{}"),
        (Envelope(OBJECT, "log"), "no"),
        (Envelope(OBJECT, "log"), '{"log":7}'),
        (Envelope(OBJECT, "payload"), "[7]"),
        (Envelope(OBJECT, "payload"), '{"payload":null}'),
        (Envelope(OBJECT, "message"), '{"message":"a"}x'),
        (Envelope(OBJECT, "message"), "[" * 100_000),
        (Envelope(EXPORT), "MESSAGE"),
    ],
)
def test_other_lines_are_rejected(envelope: Envelope, line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unwrap(envelope, line)


@pytest.mark.parametrize(
    ("envelope", "line"),
    [(Envelope(FIELD, "message"), '"timestamp": 7,'), (Envelope(EXPORT), "_PID=7")],
)
def test_lines_of_other_fields(envelope: Envelope, line: str) -> None:
    """They are of the same record, and hold nothing."""
    assert unwrap(envelope, line) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k-0 kafka #1 a", ("k-0 kafka ", "#1 a")),
        ("#1 a", ("", "#1 a")),
        ("\x1b[32mk-0\x1b[0m #1 a\x1b[0m", ("k-0 ", "#1 a")),
        ('x,"#1 a ""b"" c",y', ('x,"', '#1 a "b" c')),
        ('"#1 torn', ('"', "#1 torn")),
        ("nothing", None),
        ("x" * 500 + "#1", None),
    ],
)
def test_prefixes_are_removed(text: str, expected: tuple[str, str] | None) -> None:
    assert without_prefix(r"#\d", text) == expected


def test_continued_lines_have_the_same_prefix() -> None:
    assert continuation("a.log-12:", "a.log-13:rest") == "rest"
    assert continuation("k-0 ", "j-0 rest") is None
