"""Which threads are not the server's own: those of an authorizer, where it has some."""

from __future__ import annotations

import threading
import time
from typing import Final

OURS: Final = ("doorkeeper-", "asyncio_", "MainThread")
"""How the names of threads begin that the server, or Python for it, has started."""

ENDING_S: Final = 1.0
"""How long a thread that was told to end may take to do so."""


def threads_of_others(ending_s: float = ENDING_S) -> list[threading.Thread]:
    """Return the threads that an authorizer has left behind, after a short wait for their end."""
    deadline_s = time.monotonic() + ending_s
    left = []
    for thread in threading.enumerate():
        if thread.name.startswith(OURS) or thread is threading.current_thread():
            continue
        thread.join(max(deadline_s - time.monotonic(), 0))
        if thread.is_alive():
            left.append(thread)
    return left
