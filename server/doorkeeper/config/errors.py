"""What is wrong with a configuration.

ConfigError     every problem that was found, one line each
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.config.entry import Entry, Problem
    from doorkeeper.config.settings import Settings


class ConfigError(Exception):
    """The server cannot start with this configuration."""

    def __init__(
        self,
        problems: Sequence[Problem],
        entries: Sequence[Entry] = (),
        settings: Settings | None = None,
    ) -> None:
        """Keep the problems, and what could be read and made: others may look at it too.

        In ``settings`` a key with a problem has its default, or what is nearest to it.
        """
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        self.entries = tuple(entries)
        self.settings = settings
