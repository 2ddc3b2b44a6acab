"""doorkeeper.dissector.inputs."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from doorkeeper.dissector import inputs
from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.inputs import (
    ResponseType,
    chunks_of,
    dissect_capture,
    dissect_stream,
)
from doorkeeper.dissector.packets import SYN
from testkit.captures import CLIENT, SERVER, conversation, pcap, tcp, tcp_with_flags
from testkit.sample_frames import CREATE_ACLS, DESCRIBE_ACLS, DESCRIBED, LOGIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.dissector.dissection import Dissection

MAX = 1000
TALK = conversation(
    ("request", DESCRIBE_ACLS[:10]),
    ("request", DESCRIBE_ACLS[10:] + LOGIN),
    ("response", DESCRIBED[:3]),
    ("response", DESCRIBED[3:]),
)


def summaries(dissections: Iterable[Dissection]) -> list[tuple[str, str, bool]]:
    """Return kind and API of each frame, and whether it is broken."""
    found: list[tuple[str, str, bool]] = []
    for each in dissections:
        list(each.fields())
        found.append((each.kind, each.api, each.error is not None))
    return found


def reasons(dissections: Iterable[Dissection]) -> list[str]:
    """Return why frames are broken."""
    found = []
    for each in dissections:
        list(each.fields())
        if each.error is not None:
            found.append(each.error.reason)
    return found


def dissect(packets: Iterable[bytes], ports: tuple[int, ...] = (9092,)) -> list[Dissection]:
    return list(dissect_capture(BytesIO(pcap(packets)), ports, MAX))


def test_requests_of_a_stream() -> None:
    """One after the other; the one that is cut off comes last."""
    data = DESCRIBE_ACLS + CREATE_ACLS[:-1]

    assert summaries(dissect_stream(iter([data]), MAX)) == [
        ("request", "DescribeAcls", False),
        ("request", "CreateAcls", True),
    ]


def test_responses_of_a_stream() -> None:
    """All are of the API and version that are named."""
    found = dissect_stream(iter([DESCRIBED * 2]), MAX, ResponseType(29, 3))

    assert summaries(found) == [("response", "DescribeAcls", False)] * 2


def test_after_an_invalid_size_nothing_is_read() -> None:
    """Nobody knows where the next frame would begin."""
    chunks = iter([DESCRIBE_ACLS + b"\xff" * 4, DESCRIBE_ACLS])

    assert summaries(dissect_stream(chunks, MAX))[1:] == [("request", "", True)]
    assert next(chunks) == DESCRIBE_ACLS


def test_input_as_text() -> None:
    """Digits and dumps give the same bytes as raw input."""
    dump = b"0000: 61 62\n"

    assert b"".join(chunks_of(BytesIO(b"ab"), "raw", b"ab")) == b"ab"
    assert b"".join(chunks_of(BytesIO(b"61 62"), "hex", b"61 62")) == b"ab"
    assert b"".join(chunks_of(BytesIO(dump), "hex", dump)) == b"ab"


def test_a_capture() -> None:
    """Requests and responses in the order in which they are whole, with their streams."""
    found = dissect(TALK)

    assert summaries(found) == [
        ("request", "DescribeAcls", False),
        ("request", "SaslAuthenticate", False),
        ("response", "DescribeAcls", False),
    ]
    assert [(each.frame.stream, each.frame.offset) for each in found][1:] == [
        ("10.0.0.7:50000 > 10.0.0.1:9092", len(DESCRIBE_ACLS)),
        ("10.0.0.1:9092 > 10.0.0.7:50000", 0),
    ]


def test_ports() -> None:
    """Connections to other ports are left out; a port may be named on both sides."""
    assert dissect(TALK, (9093,)) == []
    assert summaries(dissect(TALK, (9092, 50000))) == summaries(dissect(TALK))


def test_packets_twice_and_in_another_order() -> None:
    """The frames are the same."""
    syn, answer, first, second, third, fourth = TALK

    found = dissect([syn, syn, answer, answer, second, first, first, fourth, third, second])

    assert summaries(found) == summaries(dissect(TALK))


def test_missing_packets() -> None:
    """What comes behind them is not guessed at."""
    syn, answer, first, _, third, fourth = TALK

    assert summaries(dissect([syn, answer, third, fourth])) == [("response", "", False)]
    assert reasons(dissect([syn, answer, first]))[0].endswith(
        f"the capture ends after 10 of {len(DESCRIBE_ACLS)} bytes of the frame"
    )
    later = tcp(CLIENT, SERVER, 9999, b"later")
    whole = tcp(CLIENT, SERVER, 1000, DESCRIBE_ACLS)
    for packet in (first, whole):
        (reason,) = reasons(dissect([syn, packet, later]))
        assert "segments are missing from the capture" in reason


def test_many_packets_behind_a_missing_one() -> None:
    """The direction is given up, the other one goes on."""
    syn, answer, first, _, third, fourth = TALK
    later = [tcp(CLIENT, SERVER, 2000 + 2 * each, b"x") for each in range(4097)]

    found = dissect([syn, answer, first, *later, first, third, fourth])

    assert summaries(found) == [("request", "", True), ("response", "", False)]


def test_a_port_that_is_used_again() -> None:
    """A new connection begins with a new SYN; the old one is over."""
    syn, _, first, *_ = TALK
    again = tcp_with_flags(CLIENT, SERVER, 70000, b"", SYN)

    found = dissect([syn, first, again, tcp(CLIENT, SERVER, 70001, CREATE_ACLS)])

    assert summaries(found) == [("request", "", True), ("request", "CreateAcls", False)]


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many connections nor many unfinished frames are kept."""
    starts = [tcp(("10.0.0.7", port), SERVER, 0, DESCRIBE_ACLS[:20]) for port in (1, 2, 3)]
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "CONNECTIONS_MAX", 2)
        assert "more than 2 connections" in reasons(dissect(starts))[0]
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "HELD_BYTES_MAX", 50)
        found = reasons(dissect(starts))
    assert [("given up" in each) for each in found] == [True, False, False]


def test_a_damaged_capture() -> None:
    """The frames before the damage come first, those cut off too."""
    found = dissect_capture(BytesIO(pcap(TALK[:3]) + b"damage"), (9092,), MAX)

    assert "the capture ends after 10 of" in reasons([next(found)])[0]
    with pytest.raises(UnreadableInput, match="cut off in packet 4"):
        next(found)
