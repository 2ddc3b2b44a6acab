"""What collectors put around lines and records."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.sources.envelopes import CRI, DOCKER, PLAIN, RECORD, kind_of, unwrap

KCAT = b'{"topic":"t","partition":3,"offset":7,"ts":1,"key":null,"payload":"{\\"a\\":1}"}'


@pytest.mark.parametrize(
    ("line", "kind", "content"),
    [
        (b'{"log":"a b\\n","stream":"stdout","time":"x"}', DOCKER, b"a b"),
        (b"2026-10-21T13:54:30.714123456Z stdout F a b", CRI, b"a b"),
        (b"2026-10-21T13:54:30.7+02:00 stderr F {}", CRI, b"{}"),
        (KCAT, RECORD, b'{"a":1}'),
        (b'{"schema":null,"payload":{"a":1}}', RECORD, b'{"a":1}'),
        (b"[2026-10-21 13:54:30,714] INFO a b", PLAIN, b"[2026-10-21 13:54:30,714] INFO a b"),
        (b'{"log":"a b\\n"', PLAIN, b'{"log":"a b\\n"'),
        (b"[1]", PLAIN, b"[1]"),
    ],
)
def test_kinds(line: bytes, kind: str, content: bytes) -> None:
    """Each is told by its form, and gives what it holds."""
    assert kind_of(line) == kind
    assert unwrap(kind, line).content == content


def test_long_lines_come_in_parts() -> None:
    """Docker and container runtimes cut lines of 16 kB."""
    assert unwrap(DOCKER, b'{"log":"a","stream":"","time":""}').partial
    assert unwrap(CRI, b"2026-10-21T13:54:30.7Z stdout P a").partial
    assert not unwrap(CRI, b"2026-10-21T13:54:30.7Z stdout F a").partial


def test_a_record_of_a_topic_has_a_name() -> None:
    """Topic, partition and offset name it; Kafka Connect writes none of them."""
    assert unwrap(RECORD, KCAT).identity == "t-3@7"
    assert unwrap(RECORD, b'{"schema":null,"payload":""}').identity == ""


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (CRI, b"[2026"),
        (DOCKER, b"{}"),
        (DOCKER, b"no"),
        (RECORD, b"[]"),
        (RECORD, b'{"payload":null}'),
    ],
)
def test_other_lines(kind: str, line: bytes) -> None:
    """A line that is of another kind than the file is refused with a reason."""
    with pytest.raises(ValueError, match=r".+"):
        unwrap(kind, line)
