"""The configured authorizer and its log: construction, start, and close in bounded time."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

from doorkeeper.base.entry import Entry
from doorkeeper.server.app.errors import StartError, locate
from doorkeeper.server.authorizer.awaitables import as_future
from doorkeeper.server.authorizer.contract import (
    Authorizer,
    AuthorizerLog,
    AuthorizerServerInfo,
    Endpoint,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.loading import authorizer_class
from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer
from doorkeeper.server.config.keys import AUTHORIZER_CLASS_NAME
from doorkeeper.server.config.plug_ins import UnusableClass, made
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.operations.logs.authorizer_file import AuthorizerFile
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.threads import threads_of_others
from doorkeeper.server.state.log import StateLog


async def check_authorizer(entries: Sequence[Entry]) -> None:
    """Construct the authorizer of some entries, configure it, and close it without a start.

    Raises:
        StartError: it cannot be loaded, or rejects its configuration.
    """
    authorizer = authorizer_of(entries)
    if authorizer is not None:
        close(GuardedAuthorizer(authorizer), _log())


def authorizer_of(
    entries: Sequence[Entry],
    log: StateLog | None = None,
    authorizer_log: AuthorizerLog | None = None,
) -> Authorizer | None:
    """Return the configured authorizer, not started; None if none is configured.

    Raises:
        StartError: it cannot be loaded, or rejects its configuration.
    """
    originals = {entry.key: entry.value for entry in entries}
    name = originals.get(AUTHORIZER_CLASS_NAME.name, "").strip()
    try:
        authorizer_type = authorizer_class(name)
    except UnusableClass as error:
        raise StartError(locate(entries, error)) from error
    if authorizer_type is None:
        return None
    make: Callable[[], Authorizer] = authorizer_type
    if authorizer_type is StandardAuthorizer:
        make = partial(StandardAuthorizer, authorizer_log=authorizer_log)

    def configure(authorizer: Authorizer) -> None:
        if log is not None and isinstance(authorizer, KeepsInStore):
            authorizer.attach(log)
        authorizer.configure(originals)

    def refused(authorizer: Authorizer) -> None:
        close(GuardedAuthorizer(authorizer), _log())

    try:
        return made(make, configure, f"{AUTHORIZER_CLASS_NAME}={name}", refused)
    except ValueError as error:
        raise StartError(locate(entries, error)) from error


def open_authorizer_file(path: Path, usual: AuthorizerLog, logger: Logger) -> AuthorizerFile:
    """Open the file that Kafka's authorizer log goes to instead of ``usual``.

    Raises:
        StartError: it cannot be opened.
    """

    def log_failure(error: OSError) -> None:
        logger.error("authorizer log not written", file=str(path), cause=error.strerror)

    try:
        return AuthorizerFile(path, usual.threshold, now_ns=time.time_ns, failed=log_failure)
    except OSError as error:
        text = f"doorkeeper.authorizer.log.file: {path}: {error.strerror}"
        raise StartError(text) from error


def server_info(
    settings: Settings, cluster_id: str, endpoints: Sequence[Endpoint]
) -> AuthorizerServerInfo:
    """Return the information about the server that an authorizer gets."""
    by_name = {endpoint.listener_name: endpoint for endpoint in endpoints}
    return AuthorizerServerInfo(
        cluster_id=cluster_id,
        node_id=settings.node_id,
        endpoints=tuple(endpoints),
        inter_broker_endpoint=by_name[settings.inter_broker_listener_name],
        early_start_listeners=settings.early_start_listeners,
    )


def start_authorizer(
    authorizer: GuardedAuthorizer, settings: Settings, info: AuthorizerServerInfo
) -> Mapping[Endpoint, asyncio.Future[None]]:
    """Start an authorizer; return a future for each endpoint that must wait.

    Raises:
        StartError: it does not start.
    """
    loop = asyncio.get_running_loop()
    try:
        awaitables: object = authorizer.start(info)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        raise refused_start(settings, error) from error
    if not isinstance(awaitables, Mapping):
        text = f"start returned {awaitables!r:.80}; expected: a mapping of endpoints"
        raise refused_start(settings, TypeError(text))
    others = [endpoint for endpoint in awaitables if endpoint not in info.endpoints]
    if others:
        # Else the listener that was meant would open before the authorizer has loaded.
        text = (
            f"start returned an awaitable for {others[0]!r:.80}; expected: endpoints of the server"
        )
        raise refused_start(settings, TypeError(text))
    return {endpoint: as_future(awaitable, loop) for endpoint, awaitable in awaitables.items()}


def _log() -> Logger:
    # Imported for problems only: a server inside a test logs without structlog.
    from doorkeeper.server.runtime.lean_structlog import structlog

    logger: Logger = structlog.get_logger("doorkeeper.server")
    return logger


def refused_start(settings: Settings, error: BaseException) -> StartError:
    text = " ".join(str(error).split()) or type(error).__name__
    return StartError(
        f"{AUTHORIZER_CLASS_NAME}={settings[AUTHORIZER_CLASS_NAME]} failed to start: {text}"
    )


# With the drain this must be less than the grace period of service managers (90 s for systemd, 30 s
# for Kubernetes), so that the store closes before they kill the process.
CLOSE_S: Final = 10.0


class TookTooLong(BaseException):
    """Interrupts a call that does not return; ``except Exception`` does not catch it."""


def close(authorizer: GuardedAuthorizer, log: Logger, most_s: float = CLOSE_S) -> None:
    """Close an authorizer once, and log problems."""
    with time_limit(most_s):
        authorizer.close()
    # Not the main thread: the process belongs to a test runner, and so do its threads.
    if threading.current_thread() is not threading.main_thread():
        return
    threads = threads_of_others()
    if threads:
        log.warning(
            "threads of the authorizer are still running",
            authorizer=authorizer.name,
            threads=", ".join(thread.name for thread in threads),
        )


@contextmanager
def time_limit(most_s: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in the block after ``most_s`` seconds, then each second.

    On other threads than the main one nothing is interrupted.
    """
    # An authorizer closes on the event loop's thread, which only a signal can interrupt, and Python
    # handles signals on the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not is_over:
            raise TookTooLong(f"timed out after {most_s:g} s")

    began_s = time.monotonic()
    handler = signal.signal(signal.SIGALRM, interrupt)
    # Keep the alarm of other code, for example of a test runner, at its time.
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
