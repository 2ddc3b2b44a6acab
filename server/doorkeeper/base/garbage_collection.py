"""Python's garbage collector: short collections, and long-lived objects frozen out of them.

Nearly everything is freed by reference counting. The collector is needed for cycles, which come
from exceptions and die young. Long-lived objects must not be part of cycles: a cycle with a frozen
part is never freed. The ACLs live longest, and a collection that traverses them stops the server: a
third of a second for the million objects of 150,000 new ACLs. See
``docs/decisions/garbage-collection.md``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector in the block; leave it disabled if it was before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def frozen_allocations() -> Iterator[None]:
    """Freeze objects allocated in the block, in a process whose collections are limited.

    Existing garbage is collected first, because frozen objects never are. A no-op where
    ``limit_collections`` was not called, as in a process that embeds a server.
    """
    if freeze_survivors not in gc.callbacks:
        yield
        return
    # Two generations only: older objects are frozen already.
    gc.collect(1)
    with collection_paused():
        yield
        gc.freeze()


def freeze_long_lived() -> None:
    """Freeze all present objects, after a long object without cycles was built.

    A list of 300,000 names costs 5 to 18 ms in each of its first collections. A no-op where
    ``limit_collections`` was not called.
    """
    if freeze_survivors in gc.callbacks:
        gc.freeze()


def freeze_survivors(phase: Literal["start", "stop"], info: dict[str, Any]) -> None:
    """Freeze the survivors of a second collection; a callback of the collector."""
    # Objects that survive one collection only may still be short-lived.
    if phase == "stop" and info["generation"] > 0:
        gc.freeze()


THRESHOLDS: Final = (2_000, 4, 100)
"""Thresholds of the generations: a first collection visits 2,000 objects, a second 10,000.

A node of a persistent map refers to up to 32 others. While ACLs were created, on a busy machine,
visiting 50,000 new objects took 50 to 100 ms of processor time, and at a million ACLs 300 ms.
"""


def limit_collections() -> None:
    """Limit collections after the start, and freeze all objects present.

    During the start nothing is collected: see ``cli.main``.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    gc.callbacks.append(freeze_survivors)
