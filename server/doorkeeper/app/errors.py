"""Why a server does not start, or does not take a new configuration.

StartError     what is wrong, one line for each problem; the process ends with status 1
"""

from __future__ import annotations


class StartError(Exception):
    """The server cannot go on with what it was given."""

    def __init__(self, *problems: str) -> None:
        """Keep the problems; each is one line."""
        super().__init__("\n".join(problems))
        self.problems = problems
