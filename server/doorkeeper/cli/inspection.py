"""Commands that inspect: no fault in what was examined differs from nothing to examine.

A command that checks, verifies, compares or learns is marked with ``inspects``. It counts what it
examined. JSON has the number as ``examined``; where it is 0, the command prints a sentence that
says what is missing and where, and ends with the status of a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.cli.terminal import FAILED, fail

Callback = TypeVar("Callback", bound="Callable[..., Any]")

_MARK: Final = "inspects"


def inspects(callback: Callback) -> Callback:
    """Mark the function of a command that inspects; a test has its answers to each input."""
    setattr(callback, _MARK, True)
    return callback


def is_inspection(callback: Callable[..., Any] | None) -> bool:
    """Say whether the function of a command is marked."""
    return getattr(callback, _MARK, False)


class Examined(Struct, frozen=True):
    """The number of things that were examined, and the sentence for none."""

    number: int
    nothing: str
    """What is missing and where, such as ``audit: no audit log in this folder``."""

    def fail_if_nothing(self, status: int = FAILED) -> None:
        """End the process if nothing was examined; call it after the output."""
        if not self.number:
            fail([self.nothing], status)
