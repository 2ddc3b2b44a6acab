"""The standard streams of a process, which its parent may have closed."""

from __future__ import annotations

import os
import sys

STDIN = 0
STDOUT = 1
STDERR = 2


def fill_standard_descriptors() -> None:
    """Open the null device for standard streams that the parent process has closed.

    Otherwise the next files get their descriptors, and log lines are written to sockets and stores.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(opened)
    # Python has set the streams to None.
    sys.stdin = sys.stdin or os.fdopen(STDIN)
    sys.stdout = sys.stdout or os.fdopen(STDOUT, "w")
    sys.stderr = sys.stderr or os.fdopen(STDERR, "w")
