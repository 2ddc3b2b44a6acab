"""Frames out of streams and captures: whole, cut off, out of order, damaged."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING

from doorkeeper.dissector import inputs
from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.inputs import ResponseType, dissect_capture, dissect_stream
from testkit.captures import SERVER, conversation, pcap, pcapng, tcp
from testkit.sample_frames import CREATE_ACLS, DESCRIBE_ACLS, DESCRIBED, LOGIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from doorkeeper.dissector.dissection import Dissection

MAX = 1000
TALK = conversation(
    ("request", DESCRIBE_ACLS[:10]),
    ("request", DESCRIBE_ACLS[10:] + LOGIN),
    ("response", DESCRIBED[:3]),
    ("response", DESCRIBED[3:]),
)


def summaries(dissections: Iterable[Dissection]) -> list[tuple[str, str, str]]:
    """Return kind and API of each frame, and why it is broken."""
    found: list[tuple[str, str, str]] = []
    for each in dissections:
        list(each.fields())
        found.append((each.kind, each.api, each.error.reason if each.error else ""))
    return found


def dissect(packets: Iterable[bytes]) -> list[tuple[str, str, str]]:
    return summaries(dissect_capture(BytesIO(pcap(packets)), (9092,), MAX))


def test_streams() -> None:
    """Requests follow each other until a size is invalid; responses need their API and version."""
    requests = iter([DESCRIBE_ACLS + CREATE_ACLS[:40], CREATE_ACLS[40:] + b"\xff" * 4])

    assert summaries(dissect_stream(requests, MAX)) == [
        ("request", "DescribeAcls", ""),
        ("request", "CreateAcls", ""),
        ("request", "", "-1; allowed are 0 to 1000"),
    ]
    assert summaries(dissect_stream(iter([DESCRIBED]), MAX, ResponseType(29, 3))) == [
        ("response", "DescribeAcls", "")
    ]


def test_segments_in_any_order() -> None:
    """Retransmitted and reordered segments are joined; missing ones end their direction."""
    syn, answer, first, second, third, fourth = TALK
    whole = [
        ("request", "DescribeAcls", ""),
        ("request", "SaslAuthenticate", ""),
        ("response", "DescribeAcls", ""),
    ]

    assert dissect(TALK) == whole
    assert dissect([syn, syn, answer, second, first, first, fourth, third, second]) == whole
    ((kind, _, reason),) = dissect([syn, answer, first])
    assert (kind, "the capture ends after 10 of" in reason) == ("request", True)


def test_every_truncation_of_a_capture() -> None:
    """A capture that is cut off gives its first frames, then an error, or ends between packets."""
    for make in (pcap, pcapng):
        whole = make(TALK)
        for cut in range(0, len(whole), 7):
            with suppress(UnreadableInput):
                summaries(dissect_capture(BytesIO(whole[:cut]), (9092,), MAX))


def test_every_truncation_of_a_frame() -> None:
    """The fault has an offset within the frame, and no field lies after it."""
    for cut in range(1, len(CREATE_ACLS)):
        (dissection,) = dissect_stream(iter([CREATE_ACLS[:cut]]), MAX)
        fields = list(dissection.fields())

        assert dissection.error is not None
        assert 0 <= dissection.error.offset <= cut
        assert all(field.offset + field.size <= cut for field in fields)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many connections nor many unfinished frames are kept."""
    starts = [tcp(("10.0.0.7", port), SERVER, 0, DESCRIBE_ACLS[:20]) for port in (1, 2, 3)]

    with monkeypatch.context() as patch:
        patch.setattr(inputs, "CONNECTIONS_MAX", 2)
        assert "more than 2 connections" in dissect(starts)[0][2]
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "HELD_BYTES_MAX", 50)
        given_up = ["given up" in reason for _, _, reason in dissect(starts)]
    assert given_up == [True, False, False]
