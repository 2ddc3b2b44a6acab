"""The end of an authorizer, on every way out: in bounded time, and its threads are named."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.app.threads import threads_of_others

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.logs.pipeline import Logger

CLOSE_S: Final = 10.0
"""How long ``close`` may take: together with the drain less than service managers wait before they
kill (90 s for systemd, 30 s for Kubernetes), so that the store still closes well."""


class TookTooLong(BaseException):
    """Interrupts a call that does not return; no ``except Exception`` of a plug-in stops it."""


def close(authorizer: GuardedAuthorizer, log: Logger, most_s: float = CLOSE_S) -> None:
    """Close an authorizer, once; what is wrong with that is logged.

    Off the main thread the process is somebody else's, a test runner's, and so are its threads.
    """
    with interrupted_after(most_s):
        authorizer.close()
    if threading.current_thread() is not threading.main_thread():
        return
    threads = threads_of_others()
    if threads:
        log.warning(
            "threads outlive the authorizer",
            authorizer=authorizer.name,
            threads=", ".join(thread.name for thread in threads),
        )


@contextmanager
def interrupted_after(most_s: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in what takes longer, and again each second until it ends.

    An authorizer closes on the loop's thread, and so nothing but a signal can reach it. Signals
    come to the main thread only: on another one nothing is interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not is_over:
            raise TookTooLong(f"it took longer than {most_s:g} s")

    began_s = time.monotonic()
    handler = signal.signal(signal.SIGALRM, interrupt)
    # Somebody else's alarm, of a test runner for example, comes at its time all the same.
    other_s, interval_s = signal.setitimer(signal.ITIMER_REAL, most_s, 1.0)
    try:
        yield
    finally:
        is_over = True
        if other_s:
            other_s = max(other_s - (time.monotonic() - began_s), 0.001)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, other_s, interval_s)
