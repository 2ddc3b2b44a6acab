"""Errors of a start or a reload.

StartError     one line for each problem; the process exits with status 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from doorkeeper.base.entry import Entry


class StartError(Exception):
    """The configuration or the environment does not permit the start or the reload."""

    def __init__(self, *problems: str, warnings: Sequence[str] = ()) -> None:
        """Each problem is one line, and so is each warning that stands beside them."""
        super().__init__("\n".join(problems))
        self.problems = problems
        self.warnings = tuple(warnings)


def locate(entries: Iterable[Entry], problem: object) -> str:
    """Return a problem in one line, after file and line of the key with which it begins."""
    text = " ".join(str(problem).split())
    sources = {entry.key: entry.source for entry in entries}
    source = sources.get(re.split("[:=]", text, maxsplit=1)[0], "")
    return f"{source}: {text}" if source else text
