"""Python's garbage collector, where very much is made that stays.

It frees cycles, of which there are few. What it finds alive it has looked at in vain, so that
making a thousand ACLs costs a third more than it would without it.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let nothing be collected inside; one who rested already goes on resting."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def made_to_stay() -> Iterator[None]:
    """Never look at what is made inside, in a process whose collections are kept short.

    What was garbage before is collected first, because what lives at the end is out of sight for
    ever. In a process of others, where ``retire`` is not called, nothing is different inside.
    """
    if retire not in gc.callbacks:
        yield
        return
    gc.collect(1)
    with collector_paused():
        yield
        gc.freeze()


def hide_from_collector() -> None:
    """Never look at what lives now, where something long was made of what has no cycles.

    A list of 300,000 names costs 5 to 18 ms in each of the first collections that look at it. In a
    process of others, where ``retire`` is not called, nothing happens.
    """
    if retire in gc.callbacks:
        gc.freeze()


def retire(phase: Literal["start", "stop"], info: dict[str, Any]) -> None:
    """Take what has survived a second collection out of sight; the collector calls this."""
    if phase == "stop" and info["generation"] > 0:
        gc.freeze()
