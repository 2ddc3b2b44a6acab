"""Errors of a configuration.

ConfigError     every problem, one line each
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.base.entry import Entry, Problem


class ConfigError(Exception):
    """The configuration is invalid."""

    def __init__(
        self,
        problems: Sequence[Problem],
        entries: Sequence[Entry] = (),
        settings: object = None,
        source: object = None,
    ) -> None:
        """``entries`` and ``settings`` are the readable parts, for further checks.

        In ``settings`` a key with a problem has its default or a similar value.
        """
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        self.entries = tuple(entries)
        # ``Settings`` and ``Source`` of a server, which is above.
        self.settings: Any = settings
        self.source: Any = source
