"""The wait of a request for records, which ends early when there are enough."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


async def wait_until(
    is_ready: Callable[[], bool],
    waiters: Collection[set[Callable[[], None]]],
    max_wait_ms: int,
) -> None:
    """Return when the request is ready, or its time is over.

    ``waiters`` are what calls when something has changed.
    """
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def wake() -> None:
        if not ended.done() and is_ready():
            ended.set_result(None)

    def give_up() -> None:
        if not ended.done():
            ended.set_result(None)

    for each in waiters:
        each.add(wake)
    timer = loop.call_later(max_wait_ms / 1000, give_up)
    try:
        # Something may have changed between the handler's look and the start of this task.
        wake()
        await ended
    finally:
        timer.cancel()
        for each in waiters:
            each.discard(wake)
