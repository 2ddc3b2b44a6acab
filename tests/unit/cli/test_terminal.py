"""Colours, escapes, failures and progress."""

from __future__ import annotations

import io
import json

import pytest

from doorkeeper.cli.terminal import (
    fail,
    has_colours,
    paint,
    printable,
    retry_reporter,
    say,
    show,
    show_json,
)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colours_depend_on_terminal() -> None:
    assert has_colours(Terminal(), {})
    assert has_colours(Terminal(), {"NO_COLOR": ""})
    assert not has_colours(Terminal(), {"NO_COLOR": "1"})
    assert not has_colours(Terminal(), {"TERM": "dumb"})
    assert not has_colours(io.StringIO(), {})


def test_pipe_output_is_not_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert paint("x", "red") == "x"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", Terminal())
    assert paint("x", "red") == "\x1b[31mx\x1b[0m"


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable("a\x1b[2J\nb") == "a\\x1b[2J\\nb"
    assert printable("Grüße 主题") == "Grüße 主题"

    say("no\rthing")

    assert capsys.readouterr() == ("", "doorkeeper: no\\rthing\n")


def test_unencodable_characters_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(data, encoding="ascii"))

    show(["Grüße", "x"])
    show_json({"name": "主题\udcff"})

    lines, _, record = data.getvalue().partition(b"{")
    assert lines == b"Gr\\xfc\\xdfe\nx\n"
    assert json.loads(b"{" + record) == {"name": "主题\udcff"}


def test_each_problem_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines begin with the program's name; the status is 1."""
    with pytest.raises(SystemExit) as caught:
        fail(["one", ValueError("two\nlines")])

    captured = capsys.readouterr()
    assert captured.err == "doorkeeper: one\ndoorkeeper: two lines\n"
    assert captured.out == ""
    assert caught.value.code == 1


def test_repeated_messages_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = retry_reporter()

    for reason in ("lost", "timed out", "lost"):
        report(OSError(reason))

    assert capsys.readouterr().err == (
        "doorkeeper: lost; trying again\ndoorkeeper: timed out; trying again\n"
    )
