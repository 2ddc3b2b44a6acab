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


def test_calls_run_on_the_thread() -> None:
    thread = LoopThread("a loop")

    assert thread.run(where()) == "a loop"
    with pytest.raises(ValueError, match="as asked"):
        thread.run(fail())
    thread.close()


def test_call_from_the_loop_thread_is_rejected() -> None:
    thread = LoopThread()

    async def ask_again() -> None:
        await asyncio.sleep(0)
        thread.run(where())

    with pytest.raises(RuntimeError, match="own thread"):
        thread.run(ask_again())
    thread.close()
