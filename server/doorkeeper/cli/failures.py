"""How a command that cannot go on says so: lines on stderr, and status 1 in most."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

FAILED = 1


def fail(problems: Iterable[object], status: int = FAILED) -> NoReturn:
    """Print each problem as one line and end the process."""
    for problem in problems:
        # Servers have a say in it: what they say moves no cursor.
        text = printable(" ".join(str(problem).split("\n")))
        sys.stderr.write(f"doorkeeper: {text}\n")
    raise SystemExit(status)
