"""What collectors put around lines and records."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.sources.envelopes import (
    CRI,
    DOCKER,
    PLAIN,
    RECORD,
    SHIPPED,
    SYSLOG,
    kind_of,
    unwrap,
)

KCAT = b'{"topic":"t","partition":3,"offset":7,"ts":1,"key":null,"payload":"{\\"a\\":1}"}'


@pytest.mark.parametrize(
    ("line", "kind", "content"),
    [
        (b'{"log":"a b\\n","stream":"stdout","time":"x"}', DOCKER, b"a b"),
        (b"2026-10-21T13:54:30.714123456Z stdout F a b", CRI, b"a b"),
        (KCAT, RECORD, b'{"a":1}'),
        (b'{"schema":null,"payload":{"a":1}}', RECORD, b'{"a":1}'),
        (
            b'{"date":1.5,"log":"[2026-10-21 13:54:30,714] a"}',
            SHIPPED,
            b"[2026-10-21 13:54:30,714] a",
        ),
        (
            b'{"@timestamp":"x","message":"2026-10-21 13:54:30,714 a","log":{"offset":1}}',
            SHIPPED,
            b"2026-10-21 13:54:30,714 a",
        ),
        (b'{"MESSAGE":"{\\"class_uid\\":6003}","_PID":"1"}', SHIPPED, b'{"class_uid":6003}'),
        (b'{"line":"[2026-10-21T13:54:30Z] a","labels":{}}', SHIPPED, b"[2026-10-21T13:54:30Z] a"),
        (
            b"Oct  1 13:54:30 b1 kafka[812]: [2026-10-01 13:54:30,714] a",
            SYSLOG,
            b"[2026-10-01 13:54:30,714] a",
        ),
        (
            b"<14>1 2026-10-21T13:54:30Z b1 kafka 812 - - [2026-10-21 13:54:30,714] a",
            SYSLOG,
            b"[2026-10-21 13:54:30,714] a",
        ),
        (
            b"2026-10-21T13:54:30.714Z INFO kafka.authorizer.logger: a",
            PLAIN,
            b"2026-10-21T13:54:30.714Z INFO kafka.authorizer.logger: a",
        ),
        (b"[2026-10-21 13:54:30,714] INFO a b", PLAIN, b"[2026-10-21 13:54:30,714] INFO a b"),
        (b'{"log":"a b\\n"', PLAIN, b'{"log":"a b\\n"'),
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
        (SHIPPED, b'{"log":7}'),
        (SYSLOG, b"-- Boot 7f --"),
    ],
)
def test_other_lines(kind: str, line: bytes) -> None:
    """A line that is of another kind than the file is refused with a reason."""
    with pytest.raises(ValueError, match=r".+"):
        unwrap(kind, line)
