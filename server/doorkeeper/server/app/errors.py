"""Errors of a start or a reload.

StartError     one line for each problem; the process exits with status 1
"""

from __future__ import annotations


class StartError(Exception):
    """The configuration or the environment does not permit the start or the reload."""

    def __init__(self, *problems: str) -> None:
        """Each problem is one line."""
        super().__init__("\n".join(problems))
        self.problems = problems
