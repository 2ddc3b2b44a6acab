"""Threads that an authorizer leaves behind; calls of a thread on the event loop; cancelling."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.runtime.threads import (
    OURS,
    PLUG_INS,
    OnLoop,
    PlugInThreads,
    beside,
    is_cancelled,
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


async def test_task_is_cancelled_only_while_it_is_being_cancelled() -> None:
    seen = []

    async def wait() -> None:
        seen.append(is_cancelled())
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(is_cancelled())

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == [False, True]
    assert not is_cancelled()


class EndsAtTheTimeOut(concurrent.futures.Future[Any]):
    """Ends at the moment at which the first wait for it is over."""

    def result(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().result()
        concurrent.futures.wait([self])
        raise TimeoutError


async def test_call_that_ends_at_the_time_out_has_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrent.futures, "Future", EndsAtTheTimeOut)
    on_loop = OnLoop("a b", asyncio.get_running_loop())

    assert await beside(on_loop.split, "doorkeeper-test") == ["a", "b"]


async def test_time_out_of_the_call_itself_is_raised() -> None:
    class Late:
        def ask(self) -> None:
            raise TimeoutError("of the call")

    on_loop = OnLoop(Late(), asyncio.get_running_loop())

    with pytest.raises(TimeoutError, match="of the call"):
        await beside(on_loop.ask, "doorkeeper-test")
