"""A line on a terminal that tells how far something is."""

from __future__ import annotations

import io

from doorkeeper.cli.progress import progress_on


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_nobody_watches_a_file() -> None:
    """Where stderr is no terminal there is no progress."""
    assert progress_on(io.StringIO(), "backup") is None


def test_each_percent_is_written_once() -> None:
    """The line is rewritten when the number changes, and ends at the end."""
    terminal = Terminal()
    show = progress_on(terminal, "backup")
    assert show is not None

    for done, whole in ((0, 300), (1, 300), (150, 300), (300, 300)):
        show(done, whole)

    assert terminal.getvalue() == "\rbackup:   0 %\rbackup:  50 %\rbackup: 100 %\n"


def test_nothing_to_do_is_all_done() -> None:
    """An empty whole is 100 %."""
    terminal = Terminal()
    show = progress_on(terminal, "backup")
    assert show is not None

    show(0, 0)

    assert terminal.getvalue() == "\rbackup: 100 %\n"
