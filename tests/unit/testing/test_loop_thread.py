"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from doorkeeper.testing.server import LoopThread


async def where() -> str:
    return threading.current_thread().name


async def fail() -> None:
    raise ValueError("as asked")


def test_work_is_done_on_the_thread() -> None:
    """What comes of the work is returned, or raised, where it was asked for."""
    thread = LoopThread("a loop")

    assert thread.run(where()) == "a loop"
    with pytest.raises(ValueError, match="as asked"):
        thread.run(fail())
    thread.close()


def test_it_does_not_wait_for_itself() -> None:
    """Who asks from the loop's own thread is told, instead of waiting for ever."""
    thread = LoopThread()

    async def ask_again() -> None:
        await asyncio.sleep(0)
        thread.run(where())

    with pytest.raises(RuntimeError, match="own thread"):
        thread.run(ask_again())
    thread.close()
