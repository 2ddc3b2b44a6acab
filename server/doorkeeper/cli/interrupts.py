"""Ctrl-C: the first one ends a command, with the same status everywhere."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import click

from doorkeeper.cli.terminal import NOTHING_CHANGED, fail

INTERRUPTED: Final = 130
"""128 + 2, the status that shells give a process that SIGINT has ended."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C in a blocking call inside an event loop.

    The loop's own handler only cancels the task, which a blocking call does not notice: it would
    take a second Ctrl-C. A signal that is ignored stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def require_yes(question: str) -> None:
    """Ask on stderr; end the process if the answer is not yes. The end of standard input is a no.

    Raises:
        KeyboardInterrupt: Ctrl-C is the answer.
    """
    try:
        with interruptible():
            is_yes = click.confirm(question, err=True)
    except click.Abort as abort:
        if is_interrupt(abort):
            raise KeyboardInterrupt from None
        # Behind the question, which the input has not ended with a line break.
        sys.stderr.write("\n")
        is_yes = False
    if not is_yes:
        fail_without_yes()


def require_no_question(output: str, *, asks: bool, option: str = "--yes") -> None:
    """Refuse ``--output json`` where a question would follow: it is about what is not shown.

    Raises:
        click.UsageError: the command would ask.
    """
    if asks and output == "json":
        raise click.UsageError(f"--output json asks no question: give {option}")


def fail_without_yes() -> NoReturn:
    """End the process because a question was not answered with yes: no question, no change."""
    fail([f"{NOTHING_CHANGED}: cancelled"])


def is_interrupt(abort: click.Abort) -> bool:
    """Say whether Ctrl-C made Click abort, not the end of standard input."""
    return isinstance(abort.__context__, KeyboardInterrupt)


def end_interrupted(*words: str) -> NoReturn:
    """Print that the command was interrupted, and the consequences; end the process."""
    if sys.stderr.isatty():
        # The terminal has echoed ^C, or shows a percentage: begin a new line.
        sys.stderr.write("\n")
    fail(["; ".join(("interrupted", *words))], INTERRUPTED)
