"""Moments of the history: a revision, or a time.

1042                     a revision
2026-11-26               the beginning of a day, in UTC
2026-11-26T14:30+01:00   a time; in UTC without an offset
2 days ago               a relative time: seconds, minutes, hours, days, weeks
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

FORMS: Final = "a revision, an ISO date or time such as 2026-11-26T14:30Z, or such as '2 days ago'"

_MS: Final = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_UNITS: Final = {**_MS, "week": 7 * _MS["day"]}
_RELATIVE = re.compile(rf"([0-9]{{1,6}}) +({'|'.join(_UNITS)})s? +ago")
_REVISION = re.compile(r"[0-9]{1,18}")


class Moment(Struct, frozen=True):
    """A revision, or a time in milliseconds since 1970; the other one is None."""

    revision: int | None
    time_ms: int | None

    def __str__(self) -> str:
        if self.revision is not None:
            return f"revision {self.revision}"
        assert self.time_ms is not None
        return time_text(self.time_ms)


def parse_moment(text: str, now_ms: int) -> Moment:
    """Return the moment that a text is.

    Raises:
        ValueError: it is none; the text lists the forms.
    """
    text = text.strip()
    if _REVISION.fullmatch(text):
        return Moment(int(text), None)
    if match := _RELATIVE.fullmatch(text.lower()):
        return Moment(None, now_ms - int(match[1]) * _UNITS[match[2]])
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
        return Moment(None, round(time.timestamp() * 1000))
    except (ValueError, OverflowError):
        raise ValueError(f"found {text!r}; allowed: {FORMS}") from None


def time_text(time_ms: int) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds."""
    try:
        time = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"
