"""Errors of a start or a reload.

StartError     one line for each problem; the process exits with status 1
"""

from __future__ import annotations

from collections.abc import Sequence


class StartError(Exception):
    """The configuration or the environment does not permit the start or the reload."""

    def __init__(self, *problems: str, warnings: Sequence[str] = ()) -> None:
        """Each problem is one line, and so is each warning that stands beside them."""
        super().__init__("\n".join(problems))
        self.problems = problems
        self.warnings = tuple(warnings)
