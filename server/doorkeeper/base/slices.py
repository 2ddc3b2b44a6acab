"""Work that is too long for one turn of the event loop: generators that yield between slices.

A function that returns ``Slices`` does a slice of its work in each step, and returns its result at
the end. ``run_to_end`` runs all steps at once, ``run_in_turns`` for a millisecond in each turn of
the event loop. A generator that is closed before its end leaves nothing behind.

A thread stops all others while it is in one call of C. Over the items of a large request there are
comprehensions and the functions below, and no ``sorted``, ``set``, ``dict.fromkeys`` or ``zip`` of
all into another container.
"""

from __future__ import annotations

import heapq
import types
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

T = TypeVar("T")
K = TypeVar("K")

Slices = Generator[None, None, T]

SLICE_S: Final = 0.001
"""Time for slices in one turn of the event loop; a small request takes some 20 us."""

SLICE_ITEMS: Final = 128
"""ACLs that are encoded in half a millisecond; reading as many takes a twentieth of it."""

_RUN: Final = 1024
"""Texts that are sorted in a quarter of a millisecond."""


def run_to_end(slices: Slices[T]) -> T:
    try:
        while True:
            next(slices)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_in_turns(
    slices: Slices[T],
    clock: Callable[[], float],
    between: Callable[[], Awaitable[object]] | None = None,
) -> T:
    """Run all slices, with others served in between; a cancellation stops between two of them.

    A turn takes ``SLICE_S`` by ``clock``, which needs a resolution of microseconds; ``between`` is
    awaited after each. Exceptions of a slice propagate.
    """
    try:
        while True:
            ends_s = clock() + SLICE_S
            next(slices)
            while clock() < ends_s:
                next(slices)
            await next_turn()
            if between is not None:
                await between()
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        slices.close()


async def map_in_turns(function: Callable[[K], T], items: Sequence[K]) -> list[T]:
    """Apply a function that takes microseconds to each item, with others served in between."""
    results = list(map(function, items[:SLICE_ITEMS]))
    for at in range(SLICE_ITEMS, len(items), SLICE_ITEMS):
        await next_turn()
        results += map(function, items[at : at + SLICE_ITEMS])
    return results


@types.coroutine
def next_turn() -> Generator[None]:
    """Wait for the next turn of the event loop, as ``asyncio.sleep(0)``, on any loop."""
    yield


def parts(items: Iterable[T]) -> Iterator[Sequence[T]]:
    """Yield the items in lists of ``SLICE_ITEMS``, lazily."""
    left = iter(items)
    while part := list(islice(left, SLICE_ITEMS)):
        yield part


def sort(items: Iterable[Any]) -> list[Any]:
    """Sort; in a thread, others are not stopped for as long as ``sorted`` takes."""
    return run_to_end(sort_in_slices(items))


def counts(items: Iterable[K]) -> dict[K, int]:
    """Count each item, in the order of their first ones.

    Unlike ``Counter`` and ``dict.fromkeys``, for many items this pauses for other threads.
    """
    totals: dict[K, int] = {}
    for item in items:
        totals[item] = totals.get(item, 0) + 1
    return totals


def free(items: list[Any]) -> None:
    """Empty a list, some items at a time: freeing all at once would stop other threads."""
    while items:
        del items[-SLICE_ITEMS:]


def joined(head: bytes, parts: list[bytes]) -> bytearray:
    """Return the bytes of all parts behind some others, and empty the list, as ``free``."""
    whole = bytearray(head)
    parts.reverse()
    while parts:
        run = parts[-_RUN:]
        run.reverse()
        del parts[-_RUN:]
        whole += b"".join(run)
    return whole


def sort_in_slices(items: Iterable[Any]) -> Slices[list[Any]]:
    """Sort by merging sorted runs of ``_RUN`` items."""
    left = iter(items)
    runs = []
    while run := sorted(islice(left, _RUN)):
        runs.append(run)
        yield
    if len(runs) < 2:
        return runs[0] if runs else []
    # Lazy, unlike ``sorted``: it can be interrupted between two parts.
    merged = heapq.merge(*runs)
    ordered: list[Any] = []
    while part := list(islice(merged, SLICE_ITEMS)):
        ordered += part
        yield
    return ordered
