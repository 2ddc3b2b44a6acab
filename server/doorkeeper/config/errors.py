"""What is wrong with a configuration.

ConfigError     every problem that was found, one line each
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.config.properties import Entry


class Problem(NamedTuple):
    """One thing that is wrong, or that one should know.

    ``source`` is a file with its line, ``--override``, or empty; ``key`` may be empty. The text
    never contains the value of a sensitive key.
    """

    source: str
    key: str
    text: str

    def __str__(self) -> str:
        """Return ``source: key: text``."""
        return ": ".join(part for part in self if part)


class ConfigError(Exception):
    """The server cannot start with this configuration."""

    def __init__(self, problems: Sequence[Problem], entries: Sequence[Entry] = ()) -> None:
        """Keep the problems, and the entries that could be read: others may look at them too."""
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        self.entries = tuple(entries)
