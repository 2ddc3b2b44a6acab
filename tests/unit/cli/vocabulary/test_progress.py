"""Progress on stderr: only of what takes long, and only where somebody looks."""

from __future__ import annotations

import io
import threading

import pytest

from doorkeeper.cli.vocabulary import progress as module
from doorkeeper.cli.vocabulary.progress import Progress, progress
from testkit.load import scaled


class Terminal(io.StringIO):
    """A stream that somebody looks at; ``written`` is set by what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.written.set()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report at once, and often."""
    monkeypatch.setattr(module, "AFTER_S", 0.0)
    monkeypatch.setattr(module, "EVERY_S", 0.001)


@pytest.mark.usefixtures("at_once")
def test_a_line_is_written_anew_and_goes_away() -> None:
    """Blanks take its place at the end; the cursor is at the begin of the line all the time."""
    terminal = Terminal()

    with progress("reading a.yaml", stream=terminal) as shown:
        assert terminal.written.wait(scaled(30))
        shown.tell("writing")

    lines = terminal.getvalue().split("\r")
    assert lines[1].startswith("reading a.yaml: ")
    assert lines[1].rstrip().endswith(" s")
    assert lines[-1] == ""
    assert lines[-2].strip() == ""
    assert lines[-2]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_is_written_where_nobody_looks(stream: io.StringIO, *, quiet: bool) -> None:
    """Into a file or a pipe, or with --quiet; no thread is started."""
    with progress("reading", quiet=quiet, stream=stream) as shown:
        shown.count(1, 2)
        assert "doorkeeper-progress" not in [thread.name for thread in threading.enumerate()]

    assert stream.getvalue() == ""


def test_what_ends_soon_is_not_reported() -> None:
    """The first line comes after two seconds."""
    terminal = Terminal()

    with progress("reading", stream=terminal):
        pass

    assert terminal.getvalue() == ""


def test_the_line_tells_how_much_is_done() -> None:
    """In percent, until the next stage begins; names are escaped, and long ones cut."""
    shown = Progress("applying", io.StringIO(), is_shown=False)

    shown.count(1, 3)
    assert shown.line() == "applying: 33 %, 0 s"
    shown.counter("comparing")(0, 0)
    assert shown.line() == "comparing: 100 %, 0 s"
    shown.tell("reading \x1b" + "a" * 100)
    assert shown.line().startswith("reading \\x1baaa")
    assert shown.line().endswith("a...: 0 s")


@pytest.mark.usefixtures("at_once")
def test_a_failure_removes_the_line() -> None:
    """The message of the failure has a line of its own."""
    terminal = Terminal()

    def fail() -> None:
        with progress("reading", stream=terminal):
            assert terminal.written.wait(scaled(30))
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()

    assert terminal.getvalue().split("\r")[-2].strip() == ""
