"""``doorkeeper frames``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorkeeper.cli.commands import doorkeeper
from testkit.captures import conversation, pcap, pcapng
from testkit.sample_frames import (
    CONFIG_CHANGE,
    CREATE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBED,
    LOGIN,
    PASSWORD,
    SCRAM_USER,
    with_size,
)

if TYPE_CHECKING:
    from click.testing import Result

RESPONSES = ("--response", "DescribeAcls", "--version", "3")


def run(data: bytes, *options: str) -> Result:
    """Run the command with bytes on stdin."""
    return CliRunner().invoke(doorkeeper, ["frames", "-", *options], input=data)


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
    """Each field with its place and its name for a code, as text and as JSON."""
    lines = run(data).stdout.splitlines()
    (frame,) = map(json.loads, run(data, "--output", "json").stdout.splitlines())

    assert lines[0].endswith("request DescribeAcls version 3")
    assert "      20  ResourceTypeFilter 2 (TOPIC)" in lines
    (field,) = (each for each in frame["fields"] if each["field"] == "ResourceTypeFilter")
    assert (field["offset"], field["value"], field["name"]) == (20, 2, "TOPIC")


def test_responses() -> None:
    """Their API and version are options; in a capture they follow their requests."""
    capture = pcap(conversation(("request", DESCRIBE_ACLS), ("response", DESCRIBED)))

    for result in (run(DESCRIBED, *RESPONSES), run(capture)):
        assert (result.exit_code, 'Principal "User:alice"' in result.stdout) == (0, True)


def test_a_broken_frame_between_others() -> None:
    """Its fields up to the fault, a line that says where and why, then the next frame; status 1."""
    at = CREATE_ACLS.index(b"\0\nUser:alice")
    broken = CREATE_ACLS[:at] + b"\x7f\xff" + CREATE_ACLS[at + 2 :]

    result = run(DESCRIBE_ACLS + broken + LOGIN)

    assert result.exit_code == 1
    assert f"broken at {at}: Creations[0].Principal: 32767 announced" in result.stdout
    assert "SaslAuthenticate" in result.stdout


@pytest.mark.parametrize("data", [LOGIN, SCRAM_USER, CONFIG_CHANGE])
def test_secrets_are_hidden(data: bytes) -> None:
    """Neither as text nor in hexadecimal, unless they are asked for."""
    forms = (PASSWORD, PASSWORD.encode().hex())
    hidden = run(data).stdout + run(data, "--json").stdout

    assert "secret bytes>" in hidden
    assert not any(form in hidden for form in forms)
    assert any(form in run(data, "--show-secrets").stdout for form in forms)


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (b"", ("--response", "DescribeAcls"), "--response and --version need each other"),
        (b"", ("--response", "29", "--version", "4"), "4; DescribeAcls has the versions 0 to 3"),
        (pcap(()), RESPONSES, "--response is not for captures"),
        (b"frames", ("--format", "hex"), "-: byte 1: b'r' is no hexadecimal digit"),
        (b"frames", ("--format", "pcap"), "-: no capture: it begins with 6672616d"),
    ],
)
def test_unusable_input(data: bytes, options: tuple[str, ...], reason: str) -> None:
    """Status 2, and a line that says why."""
    result = run(data, *options)

    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.binary(max_size=200)
    | st.binary(max_size=60).map(lambda tail: with_size(CREATE_ACLS[4:12] + tail)),
    options=st.sampled_from([(), ("--json",), RESPONSES, ("--format", "hex")]),
)
def test_any_bytes(data: bytes, options: tuple[str, ...]) -> None:
    """No input ends in a traceback."""
    result = run(data, *options)

    assert result.exit_code in {0, 1, 2}
    assert result.exception is None or isinstance(result.exception, SystemExit)
