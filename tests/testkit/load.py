"""Time-outs that end tests, scaled with the load of the machine.

A time-out only ends a test that hangs. On a machine with ten times as many busy processes as
processors everything takes ten times as long, and nothing hangs.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LOAD = Path("/proc/loadavg")


def factor() -> float:
    """Return how much longer than on an idle machine things may take now; at least 1."""
    processors = os.cpu_count() or 1
    load = os.getloadavg()[0]
    # The average of a minute follows late; the fourth field has the processes that run now. The
    # file is missing on other systems, and cannot be opened by a test without descriptors.
    with suppress(OSError):
        load = max(load, float(_LOAD.read_text(encoding="ascii").split()[3].partition("/")[0]))
    return max(1.0, 2 * load / processors)


def scaled(seconds: float) -> float:
    """Return a time-out in seconds for the machine as it is now."""
    return seconds * factor()
