"""Commands that inspect: no fault in what was examined differs from nothing to examine.

A command that checks, verifies, compares or learns counts what it examined. JSON has the number as
``examined``; where it is 0, the command prints a sentence that says what is missing and where, and
ends with the status of a failure. ``tests/unit/cli/test_inspection.py`` has all of them.
"""

from __future__ import annotations

from msgspec import Struct

from doorkeeper.cli.terminal import FAILED, fail


class Examined(Struct, frozen=True):
    """The number of things that were examined, and the sentence for none."""

    number: int
    nothing: str
    """What is missing and where, such as ``audit: no audit log in this folder``."""

    def fail_if_nothing(self, status: int = FAILED) -> None:
        """End the process if nothing was examined; call it after the output."""
        if not self.number:
            fail([self.nothing], status)
