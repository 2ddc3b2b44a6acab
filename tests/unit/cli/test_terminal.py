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
    say,
    say_once,
    show,
    show_json,
)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals() -> None:
    """NO_COLOR and a dumb terminal have none; an empty NO_COLOR says nothing."""
    assert has_colours(Terminal(), {})
    assert has_colours(Terminal(), {"NO_COLOR": ""})
    assert not has_colours(Terminal(), {"NO_COLOR": "1"})
    assert not has_colours(Terminal(), {"TERM": "dumb"})
    assert not has_colours(io.StringIO(), {})


def test_a_text_is_painted_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe it stays as it is."""
    assert paint("x", "red") == "x"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", Terminal())
    assert paint("x", "red") == "\x1b[31mx\x1b[0m"


def test_a_name_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """What does not print is an escape; letters of all languages print."""
    assert printable("a\x1b[2J\nb") == "a\\x1b[2J\\nb"
    assert printable("Grüße 主题") == "Grüße 主题"

    say("no\rthing")

    assert capsys.readouterr() == ("", "doorkeeper: no\\rthing\n")


def test_what_stdout_has_no_letters_for_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines get escapes; JSON is written in ASCII, and means the same."""
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


def test_what_is_said_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A message is said once."""
    say_new = say_once(str)

    for done in (0, 1, 300, 300):
        say_new(done)

    assert capsys.readouterr().err == "doorkeeper: 0\ndoorkeeper: 1\ndoorkeeper: 300\n"
