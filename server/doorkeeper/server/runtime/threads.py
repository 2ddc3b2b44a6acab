"""Threads: work beside the loop, those of plug-ins, and those left behind; cancelled tasks."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

OURS: Final = ("doorkeeper-", "asyncio_", "uvloop_", "MainThread")
"""Prefixes of the names of threads that the server, or Python for it, starts."""

PLUG_INS: Final = "plug-in"
"""Prefix of the names of the threads in which plug-ins block."""

WAIT_S: Final = 1.0
"""How soon a thread notices that the loop it waits for is closed."""

ENDING_S: Final = 1.0
"""The time that a stopped thread has to end."""

LEAVING_S: Final = 0.1
"""The same at the end of the process, for threads that do nothing."""


class PlugInThreads(ThreadPoolExecutor):
    """The threads of ``asyncio.to_thread``, in which plug-ins wait for what blocks.

    A plug-in may hang in all of them, so the server's own work is done ``beside``, and the end of
    the event loop does not wait for them.
    """

    def __init__(self) -> None:
        super().__init__(thread_name_prefix=PLUG_INS)

    def shutdown(
        self,
        wait: bool = True,  # noqa: FBT002 - the signature is Python's
        *,
        cancel_futures: bool = False,
    ) -> None:
        """Let idle threads end, and drop the calls that have not begun."""
        super().shutdown(wait=False, cancel_futures=True)


def threads_of_others(
    ending_s: float = ENDING_S, ours: tuple[str, ...] = (*OURS, PLUG_INS)
) -> list[threading.Thread]:
    """Return the threads of an authorizer that are still alive after a short wait."""
    deadline_s = time.monotonic() + ending_s
    left = []
    for thread in threading.enumerate():
        if thread.name.startswith(ours) or thread is threading.current_thread():
            continue
        # Python cannot join a thread that C code started, and does not wait for it at the end.
        if isinstance(thread, threading._DummyThread):  # noqa: SLF001
            continue
        thread.join(max(deadline_s - time.monotonic(), 0))
        if thread.is_alive():
            left.append(thread)
    return left


def leave_threads_behind(status: object) -> None:
    """Exit the process now if threads of plug-ins would keep it alive."""
    # Python waits for threads that are not daemons when it exits.
    if any(not thread.daemon for thread in threads_of_others(LEAVING_S, OURS)):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 0)


class OnLoop:
    """An object that another thread calls; each call runs on the event loop, which goes on."""

    def __init__(self, target: object, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self.call, name)

    def call(self, name: str, *arguments: object) -> object:
        """Return what the method returns, or raise what it raises.

        Raises:
            RuntimeError: the loop is closed.
        """
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._loop.call_soon_threadsafe(_complete, done, getattr(self._target, name), arguments)
        while True:
            try:
                return done.result(WAIT_S)
            except TimeoutError:
                # The call's own, or it has ended at this moment.
                if done.done():
                    return done.result()
                # A call that was waiting when the loop was closed never runs.
                if self._loop.is_closed():
                    raise


def _complete(
    done: concurrent.futures.Future[Any], call: Callable[..., Any], arguments: tuple[object, ...]
) -> None:
    try:
        done.set_result(call(*arguments))
    except BaseException as error:  # it is raised in the thread
        done.set_exception(error)


async def beside(work: Callable[[], T], name: str) -> T:
    """Run work that may block in a daemon thread, which never keeps the process alive.

    Resolving a name may hang for half a minute. Raises the exception of the work.
    """
    done: concurrent.futures.Future[T] = concurrent.futures.Future()
    # As running, it is not cancelled with its waiter: the thread goes on, and completes it.
    done.set_running_or_notify_cancel()
    threading.Thread(target=_complete, args=(done, work, ()), name=name, daemon=True).start()
    return await asyncio.wrap_future(done)


def is_cancelled() -> bool:
    """Return whether the present task is being cancelled; what it calls may say so by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
