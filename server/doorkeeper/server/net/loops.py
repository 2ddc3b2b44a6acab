"""The event loop: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec


def new_runner(loop: str = "auto") -> asyncio.Runner:
    """Return a runner: ``auto``, ``uvloop`` or ``asyncio``."""
    if loop == "asyncio" or (loop == "auto" and find_spec("uvloop") is None):
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
