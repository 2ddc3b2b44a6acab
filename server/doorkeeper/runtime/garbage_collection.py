"""Python's garbage collector: short collections, and long-lived objects frozen out of them.

Nearly everything is freed by reference counting. The collector is there for cycles, which come from
exceptions and die young; what lives long may leave none, because a cycle with a frozen part is
never freed (``docs/decisions/0218``). The ACLs live longest, and a collection that looks through
them stops the server: a third of a second for the million objects of 150,000 new ACLs.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector inside; leave it as it is where it was off before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def frozen_allocations() -> Iterator[None]:
    """Freeze what is allocated inside, in a process whose collections are limited.

    Garbage from before is collected first, because what lives at the end is never collected. Where
    ``limit_collections`` was not called, as in a process that embeds a server, do nothing.
    """
    if freeze_survivors not in gc.callbacks:
        yield
        return
    gc.collect(1)
    with collection_paused():
        yield
        gc.freeze()


def freeze_long_lived() -> None:
    """Freeze what lives now, after a long object without cycles was built.

    A list of 300,000 names costs 5 to 18 ms in each of its first collections. Where
    ``limit_collections`` was not called, do nothing.
    """
    if freeze_survivors in gc.callbacks:
        gc.freeze()


def freeze_survivors(phase: Literal["start", "stop"], info: dict[str, Any]) -> None:
    """Freeze what has survived a second collection; a callback of the collector."""
    if phase == "stop" and info["generation"] > 0:
        gc.freeze()


THRESHOLDS: Final = (2_000, 4, 100)
"""Of the generations: the first collection looks at 2,000 objects, the second one at 10,000.

A node of a persistent map refers to up to 32 others. While ACLs were created, on a busy machine,
looking at 50,000 new objects took 50 to 100 ms of the processor's time, and at a million 300."""


def limit_collections() -> None:
    """Limit collections from the end of the start on, and freeze what lives then.

    During the start nothing is collected: see ``cli.main``.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    gc.callbacks.append(freeze_survivors)
