"""The age of this process, from the operating system's record of its start."""

from __future__ import annotations

import os
import time
from pathlib import Path

_IMPORTED = time.monotonic()
_START_TIME_FIELD = 22


def process_age_ms(stat: Path = Path("/proc/self/stat")) -> int:
    """Return the age in milliseconds, to 10 ms; without /proc, since this module's import."""
    try:
        # The second field is the command in brackets, and may hold anything.
        fields = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
        started = int(fields[_START_TIME_FIELD - 3]) / os.sysconf("SC_CLK_TCK")
        return int((time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000)
    except (OSError, ValueError, IndexError, AttributeError):
        return int((time.monotonic() - _IMPORTED) * 1000)
