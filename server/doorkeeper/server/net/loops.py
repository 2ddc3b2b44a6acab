"""The event loop: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Final

LOOPS: Final = ("auto", "uvloop", "asyncio")
"""Kinds of event loop; ``auto`` is uvloop where it is installed."""


def new_runner(loop: str = "auto") -> asyncio.Runner:
    """Return a runner of this kind of loop.

    Raises:
        ValueError: the kind is unknown.
        ImportError: uvloop was named and is not installed.
    """
    if loop not in LOOPS:
        raise ValueError(f"event loop {loop}: one of {', '.join(LOOPS)}")
    if loop == "asyncio" or (loop == "auto" and find_spec("uvloop") is None):
        return asyncio.Runner()
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
