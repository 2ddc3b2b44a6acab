"""``doorkeeper frames``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorkeeper.cli.commands import doorkeeper
from testkit.captures import CLIENT, SERVER, conversation, pcap, pcapng, tcp
from testkit.sample_frames import (
    CREATE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBED,
    LOGIN,
    OLD_HANDSHAKE,
    OLD_HANDSHAKE_ANSWER,
    REQUESTS,
    with_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from click.testing import Result

RESPONSES = ("--response", "DescribeAcls", "--version", "3")
NOTHING = (tcp(CLIENT, SERVER, 0, b""),)


def run(data: bytes, *options: str) -> Result:
    """Run the command with bytes on stdin."""
    return CliRunner().invoke(doorkeeper, ["frames", "-", *options], input=data)


def test_a_file(tmp_path: Path) -> None:
    """Each frame with its place, each field with its own; status 0."""
    path = tmp_path / "frames.bin"
    path.write_bytes(DESCRIBE_ACLS + CREATE_ACLS)

    result = CliRunner().invoke(doorkeeper, ["frames", str(path)])

    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "frame 1 at 0: request DescribeAcls version 3"
    assert f"frame 2 at {len(DESCRIBE_ACLS)}: request CreateAcls version 1" in lines
    assert "      20  ResourceTypeFilter 2 (TOPIC)" in lines


@pytest.mark.parametrize(
    "data",
    [
        DESCRIBE_ACLS,
        DESCRIBE_ACLS.hex().encode(),
        b"0000: " + DESCRIBE_ACLS.hex(" ", 2).encode() + b"\n",
        pcap(conversation(("request", DESCRIBE_ACLS))),
        pcapng(conversation(("request", DESCRIBE_ACLS))),
    ],
    ids=["raw", "digits", "dump", "pcap", "pcapng"],
)
def test_formats_are_recognized(data: bytes) -> None:
    """The fields are the same."""
    expected = json.loads(run(DESCRIBE_ACLS, "--json").stdout)["fields"]

    result = run(data, "--output", "json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["fields"] == expected


def test_responses() -> None:
    """The API is named in any case, or by its key."""
    for api in ("DescribeAcls", "describeacls", "29"):
        result = run(DESCRIBED, "--response", api, "--version", "3")
        assert result.exit_code == 0
        assert 'Principal "User:alice"' in result.stdout


def test_a_capture_with_a_login_of_old() -> None:
    """Responses follow their requests; tokens without headers are counted."""
    turns = (
        ("request", OLD_HANDSHAKE),
        ("response", OLD_HANDSHAKE_ANSWER),
        ("request", with_size(b"\0alice\0secret")),
        ("response", with_size(b"")),
        ("request", DESCRIBE_ACLS),
        ("response", DESCRIBED),
    )

    result = run(pcap(conversation(*turns)))

    assert result.exit_code == 0
    assert "SASL token of 13 bytes without a header: cannot be decoded" in result.stdout
    assert "frame 6 at 25, 10.0.0.1:9092 > 10.0.0.7:50000: response" in result.stdout
    assert run(pcap(conversation(*turns)), "--port", "9093").stdout == ""


def test_a_broken_frame_between_others() -> None:
    """Its fields up to the fault, a line that says where and why, then the next frame; status 1."""
    at = CREATE_ACLS.index(b"\0\nUser:alice")
    broken = CREATE_ACLS[:at] + b"\x7f\xff" + CREATE_ACLS[at + 2 :]

    result = run(DESCRIBE_ACLS + broken + LOGIN)

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("broken"))
    left = len(broken) - at - 2
    assert lines[place] == (
        f"broken at {at}: Creations[0].Principal: 32767 announced, {left} bytes are left"
    )
    assert lines[place - 1].endswith("ResourcePatternType 3 (LITERAL)")
    assert "SaslAuthenticate" in lines[place + 1]


@pytest.mark.parametrize("name", list(REQUESTS))
def test_every_truncation(name: str) -> None:
    """Whatever is cut off, status 1 and one line with an offset."""
    for cut in range(1, len(REQUESTS[name])):
        result = run(REQUESTS[name][:cut], "--format", "raw")

        assert result.exit_code == 1
        assert sum(line.startswith("broken at ") for line in result.stdout.splitlines()) == 1
        assert result.stderr == ""


def test_secrets() -> None:
    """Hidden, unless they are asked for."""
    assert "AuthBytes <16 secret bytes>" in run(LOGIN).stdout
    assert "AuthBytes 00616c696365" in run(LOGIN, "--show-secrets").stdout


def test_a_limit() -> None:
    """A frame above it is broken."""
    result = run(DESCRIBE_ACLS, "--max-frame-bytes", "10")

    assert result.exit_code == 1
    assert "Size: 30; allowed are 0 to 10" in result.stdout


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (b"", ("--response", "DescribeAcls"), "--response and --version need each other"),
        (b"", ("--version", "3"), "--response and --version need each other"),
        (b"", ("--response", "Dance", "--version", "3"), "'Dance' is none of AddOffsetsToTxn,"),
        (b"", ("--response", "29", "--version", "4"), "4; DescribeAcls has the versions 0 to 3"),
        (pcap(()), RESPONSES, "--response is not for captures"),
        (b"", ("--port", "0"), "0 is not in the range"),
        (b"frames", ("--format", "hex"), "-: byte 1: b'r' is no hexadecimal digit"),
        (b"frames", ("--format", "pcap"), "-: no capture: it begins with 6672616d"),
        (pcap(NOTHING)[:-1], (), "-: the capture is cut off in packet 1"),
    ],
)
def test_wrong_usage_and_unreadable_input(
    data: bytes, options: tuple[str, ...], reason: str
) -> None:
    """Status 2, and a line that says why."""
    result = run(data, *options)

    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Missing ones and folders."""
    for path, reason in (
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        result = CliRunner().invoke(doorkeeper, ["frames", str(path)])
        assert (result.exit_code, result.stderr) == (2, f"doorkeeper: {path}: {reason}\n")


def test_nothing_to_print() -> None:
    """It is said on stderr; nothing is broken."""
    assert run(b"").stderr == "doorkeeper: -: no frames\n"
    result = run(pcap(NOTHING), "--port", "1", "--port", "2")
    assert result.stderr == "doorkeeper: -: no frames of connections to port 1 or 2\n"
    assert (result.exit_code, result.stdout) == (0, "")


def changed_captures(make: Callable[[Iterable[bytes]], bytes]) -> st.SearchStrategy[bytes]:
    """Return captures of a conversation with some bytes changed."""
    whole = make(conversation(("request", DESCRIBE_ACLS + LOGIN), ("response", DESCRIBED)))
    changes = st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=4)

    def change(places: list[tuple[int, int]]) -> bytes:
        data = bytearray(whole)
        for at, byte in places:
            data[at] = byte
        return bytes(data)

    return changes.map(change)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.binary(max_size=200)
    | st.binary(max_size=80).map(with_size)
    | st.binary(max_size=60).map(lambda tail: with_size(CREATE_ACLS[4:12] + tail))
    | changed_captures(pcap)
    | changed_captures(pcapng),
    options=st.sampled_from([(), ("--json",), RESPONSES, ("--format", "raw"), ("--format", "hex")]),
)
def test_any_bytes(data: bytes, options: tuple[str, ...]) -> None:
    """No input ends in a traceback."""
    result = run(data, *options)

    assert result.exit_code in {0, 1, 2}
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if "--json" in options:
        for line in result.stdout.splitlines():
            json.loads(line)
