"""Ctrl-C: the first one ends a command, with the same status everywhere."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

import click

from doorkeeper.cli.failures import fail

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTED: Final = 130
"""128 + 2, as shells have it for what SIGINT has ended."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end what blocks, though an event loop runs.

    The loop only cancels its task, and what blocks in it never hears of that; it would take a
    second Ctrl-C. Where the signal is ignored, it stays so.
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


def confirmed(question: str) -> bool:
    """Ask on stderr; only yes is yes.

    Raises:
        click.Abort: standard input ends before there is an answer.
        KeyboardInterrupt: Ctrl-C is the answer.

    """
    try:
        with interruptible():
            return click.confirm(question, err=True)
    except click.Abort as abort:
        if is_interrupt(abort):
            raise KeyboardInterrupt from None
        raise


def is_interrupt(abort: click.Abort) -> bool:
    """Say whether Ctrl-C is why Click ended a question; it may be the end of the input too."""
    return isinstance(abort.__context__, KeyboardInterrupt)


def end_interrupted(*words: str) -> NoReturn:
    """Say on stderr that the command was interrupted, and what that means, and end the process."""
    if sys.stderr.isatty():
        # The terminal has shown ^C, or a line that tells how far something is.
        sys.stderr.write("\n")
    fail(["; ".join(("interrupted", *words))], INTERRUPTED)
