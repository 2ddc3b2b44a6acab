"""The time of the system's clock, which may be set at any moment."""

from __future__ import annotations

import time
from typing import Final

NS_PER_MS: Final = 1_000_000


def utc_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // NS_PER_MS
