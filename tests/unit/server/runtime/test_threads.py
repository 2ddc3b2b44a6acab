"""Which threads an authorizer leaves behind."""

from __future__ import annotations

import _thread
import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doorkeeper.server.runtime.threads import (
    OURS,
    PLUG_INS,
    PlugInThreads,
    beside,
    threads_of_others,
)
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def thread(name: str) -> Iterator[threading.Thread]:
    """Run a thread that ends when the test does."""
    end = threading.Event()
    running = threading.Thread(target=end.wait, name=name, daemon=True)
    running.start()
    try:
        yield running
    finally:
        end.set()
        running.join()


def test_remaining_thread_is_reported() -> None:
    """Threads of a loop, such as that of a server in the same process, are not an authorizer's."""
    with (
        thread("policy-refresh") as theirs,
        thread("doorkeeper-store"),
        thread("asyncio_0"),
        thread("uvloop_0"),
    ):
        assert theirs in (left := threads_of_others(0))
        assert not any(each.name.startswith(("doorkeeper", "asyncio", "uvloop")) for each in left)
        assert threading.current_thread() not in left


def test_threads_of_c_code_are_ignored() -> None:
    """A library such as librdkafka calls Python in threads of its own, which cannot be joined."""
    end, seen = threading.Event(), threading.Event()

    def called_by_c() -> None:
        threading.current_thread()  # This makes an object for the thread.
        seen.set()
        end.wait(scaled(10))

    _thread.start_new_thread(called_by_c, ())
    try:
        assert seen.wait(scaled(10))
        assert any("Dummy" in thread.name for thread in threading.enumerate())
        assert threads_of_others(0) == []
    finally:
        end.set()


def test_loop_does_not_wait_for_plug_ins() -> None:
    """Its end drops calls that have not begun; a thread that hangs is left behind."""
    end, begun, dropped = threading.Event(), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        end.wait()

    async def call() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(threads := PlugInThreads())
        hanging = [loop.run_in_executor(None, hang) for _ in range(threads._max_workers)]
        waiting = loop.run_in_executor(None, dropped.set)
        await asyncio.wait((*hanging, waiting), timeout=0)

    try:
        asyncio.run(call())
        assert begun.is_set()
        left = threads_of_others(0, OURS)
        assert left
        assert all(each.name.startswith(PLUG_INS) for each in left)
        assert threads_of_others(0) == []
    finally:
        end.set()
    for each in left:
        each.join(scaled(10))
    assert not dropped.is_set()


async def test_abandoned_work_ends_silently() -> None:
    end = threading.Event()
    waiting = asyncio.ensure_future(beside(end.wait, "doorkeeper-late"))
    await asyncio.sleep(0)
    waiting.cancel()
    end.set()
    for each in threading.enumerate():
        if each.name == "doorkeeper-late":
            each.join(scaled(10))
    await asyncio.sleep(0)

    assert waiting.cancelled()
