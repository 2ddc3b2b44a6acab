"""What a file is."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.sources.recognising import describe_unknown, form_of

LOG_SOURCE = "authorizer-log"
LOG = b"[2024-10-25 10:11:12,345] INFO Principal = "


def source_of(beginning: bytes) -> str | None:
    """Return the source of a file with this beginning."""
    found = form_of(beginning)
    return found and found.source


def test_layout_with_thread_before_message() -> None:
    """It begins as Kafka's does, and no line of it could be read as that."""
    line = b"[2024-10-25 10:11:12,345] INFO [t-1] Principal = User:a (kafka.authorizer.logger)\n"
    found = form_of(line)

    assert found is not None
    assert found.layout is not None
    assert found.layout.pattern == "[%d] %p [%t] %m (%c)%n"


def test_first_line_in_parts() -> None:
    prefix = b"2026-10-21T13:54:30.7Z stdout "
    found = form_of(
        prefix + b"P [2024-10-25 10:\n" + prefix + b"F 11:12,345] INFO Principal = "
        b"User:a (kafka.authorizer.logger)\n"
    )

    assert found is not None
    assert (found.source, found.envelope.kind) == ("authorizer-log", "cri")


@pytest.mark.parametrize(
    ("beginning", "source"),
    [
        (LOG, "authorizer-log"),
        (b"rest of a torn record\n" + LOG, "authorizer-log"),
        (b'{"kind": "start", "seq": 1}\n', "trail"),
        (b'{torn\n{"kind": "start", "seq": 1}\n', "trail"),
        (b'\xef\xbb\xbf{"class_uid": 6003}\n', "ocsf"),
        (b'{"specversion": "1.0"}', "cloudevents"),
        (b'k-0 kafka {"kind": "start", "seq": 1}\n', "trail"),
        (b'{"message": "{\\"class_uid\\": 6003}"}\n', "ocsf"),
        (b"k-0 [2024-10-25 10:11:12,345] INFO a (kafka.server.KafkaServer)\n", LOG_SOURCE),
        (b'{"some": "object"}\n', None),
        (b"hello\n", None),
        (b"[[[[\n", None),
    ],
)
def test_first_recognised_line_decides(beginning: bytes, source: str | None) -> None:
    assert source_of(beginning) == source


@pytest.mark.parametrize(
    ("beginning", "told"),
    [
        (b"PK\x03\x04\x14\x00", "unzip"),
        (b"PAR1\x15", "Parquet"),
        (b"a.log" + b"\x00" * 252 + b"ustar", "tar -xf"),
        (b'{"repoType":9,"repo":"k","reqUser":"a","access":"describe"}\n', "Apache Ranger"),
        (b'{"b":1,"a":{}}\n', "the keys 'a', 'b'"),
        (b"{torn\n", "not one object per line"),
        (b'{"a":' + 50_000 * b"[" + b"\n", "not one object per line"),
        (b"hello \x1b[2J\nyou\n", r"its first line is 'hello \x1b[2J'"),
        (b"hello\x00", "not a text file"),
    ],
)
def test_unsupported_files_are_named(beginning: bytes, told: str) -> None:
    assert told in describe_unknown(beginning)
