"""Shortens long texts in log lines: what a peer sends must not fill the disk.

Lines of the authorizer log stay whole: tools read the names of resources from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.authorizer.authorizer_log import LOGGER_NAME

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

TEXT_CHARACTERS_MAX: Final = 1_000
"""Topics, groups and ids of clients have a quarter of it."""


def shorten(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Cut the event and its fields, and say how long they were."""
    if logger.name != LOGGER_NAME:
        for name, value in event.items():
            if isinstance(value, str) and len(value) > TEXT_CHARACTERS_MAX:
                event[name] = f"{value[:TEXT_CHARACTERS_MAX]}... ({len(value):,} characters)"
    return event
