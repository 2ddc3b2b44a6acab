"""The looks of a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper.server.operations.logs.pipeline import as_json, as_kafka, console, renderer_of

# 2026-11-21 20:00:00.123 UTC
WHEN_NS = 1_795_291_200_123_456_789


def event(text: str, **fields: object) -> dict[str, Any]:
    return {"event": text, "level": "INFO", "logger": "a.b", "timestamp_ns": WHEN_NS, **fields}


def test_json_is_one_object_per_line() -> None:
    line = as_json(None, "", event("started\n", ms=7, path={"a": 1}, other=object))

    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert list(json.loads(line)) == [
        "timestamp",
        "level",
        "logger",
        "event",
        "ms",
        "path",
        "other",
    ]
    assert json.loads(line)["timestamp"] == "2026-11-21T20:00:00.123Z"


FORGED = "x\n[2026-11-21 20:00:00,123] INFO forged (a.b)"


def test_kafka_format_escapes_control_characters() -> None:
    line = as_kafka(None, "", event(FORGED, client_id=FORGED, odd="\r\x1b[2J\x85\u2028"))

    assert len(line.decode().splitlines()) == 1
    assert line.count(rb"x\n[2026-11-21 20:00:00,123] INFO forged (a.b)") == 2
    assert rb"odd=\r\x1b[2J\x85\u2028 (a.b)" in line


@pytest.mark.parametrize("render", [as_kafka, console(colors=False)])
def test_tracebacks_are_indented(render: Any) -> None:
    """The text of an exception may quote a client's lines; none begins as a line of the log."""
    line = render(None, "", event("failed", exception=f"Traceback:\n  x\nValueError: {FORGED}"))

    first, *rest = line.decode().splitlines()
    assert first.endswith("failed (a.b)")
    assert [each[0] for each in rest] == ["\t"] * 4


def test_json_escapes_control_characters() -> None:
    line = as_json(None, "", event("a\x9b2J\x85\u2028b\n"))

    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["event"] == "a\x9b2J\x85\u2028b\n"
    assert b"\\u009b2J" in line


def test_console_format_escapes_control_characters() -> None:
    line = console(colors=False)(None, "", event("bad \x1b[2J\nname", client="a\nb", peer="x"))

    assert line.count(b"\n") == 1
    assert b"\x1b" not in line
    assert b"bad \\x1b[2J\\nname client='a\\nb' peer=x (a.b)" in line


@pytest.mark.parametrize(
    ("form", "terminal", "begin"),
    [
        ("auto", False, b"{"),
        ("auto", True, b"\x1b[2m2"),
        ("json", True, b"{"),
        ("kafka", False, b"["),
        ("console", False, b"2"),
    ],
)
def test_format_selection(form: str, begin: bytes, *, terminal: bool) -> None:
    assert renderer_of(form, terminal=terminal)(None, "", event("x")).startswith(begin)


def test_lone_surrogates_are_escaped() -> None:
    assert b"\\udc80" in as_json(None, "", event("\udc80"))
