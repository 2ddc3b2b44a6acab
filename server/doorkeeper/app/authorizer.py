"""The authorizer that the configuration names: made, started, and closed in bounded time."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.app.errors import StartError
from doorkeeper.authorizer.awaiting import as_future
from doorkeeper.authorizer.contract import AuthorizerServerInfo, Endpoint
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.authorizer.loading import KEY, authorizer_class
from doorkeeper.authorizer.standard import KeepsInStore, StandardAuthorizer
from doorkeeper.config.plug_ins import UnusableClass
from doorkeeper.runtime.threads import threads_of_others

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import FrameType

    from doorkeeper.authorizer.audit import AuditSink
    from doorkeeper.authorizer.contract import Authorizer
    from doorkeeper.config.entry import Entry
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.state.log import StateLog


async def check_authorizer(entries: Sequence[Entry]) -> None:
    """Make the authorizer that entries name, configure it, and close it without a start.

    Raises:
        StartError: it cannot be loaded, or refuses its configuration.

    """
    authorizer = authorizer_of(entries)
    if authorizer is not None:
        close(GuardedAuthorizer(authorizer), _log())


def authorizer_of(
    entries: Sequence[Entry], log: StateLog | None = None, audit: AuditSink | None = None
) -> Authorizer | None:
    """Return the configured authorizer, not started; None where there is to be none.

    Raises:
        StartError: it cannot be loaded, or refuses its configuration.

    """
    originals = {entry.key: entry.value for entry in entries}
    name = originals.get(KEY, "").strip()
    try:
        found = authorizer_class(name)
    except UnusableClass as error:
        raise StartError(placed(entries, error)) from error
    if found is None:
        return None
    authorizer: Authorizer | None = None
    try:
        authorizer = StandardAuthorizer(audit=audit) if found is StandardAuthorizer else found()
        if log is not None and isinstance(authorizer, KeepsInStore):
            authorizer.attach(log)
        authorizer.configure(originals)
    except (Exception, SystemExit) as error:
        # A plug-in may fail in any way; the operator learns in one line which one it is.
        if authorizer is not None:
            close(GuardedAuthorizer(authorizer), _log())
        if isinstance(error, ValueError):
            raise StartError(placed(entries, error)) from error
        raise StartError(f"{KEY}={name}: {type(error).__name__}: {one_line(error)}") from error
    return authorizer


def server_info(
    settings: Settings, cluster_id: str, endpoints: Sequence[Endpoint]
) -> AuthorizerServerInfo:
    """Return what an authorizer may know of the server."""
    by_name = {endpoint.listener_name: endpoint for endpoint in endpoints}
    return AuthorizerServerInfo(
        cluster_id=cluster_id,
        node_id=settings.node_id,
        endpoints=tuple(endpoints),
        inter_broker_endpoint=by_name[settings.inter_broker_listener_name],
        early_start_listeners=settings.early_start_listeners,
    )


def started(
    authorizer: Authorizer, settings: Settings, info: AuthorizerServerInfo
) -> Mapping[Endpoint, asyncio.Future[None]]:
    """Start an authorizer; return a future for each endpoint that must wait.

    Raises:
        StartError: it does not start.

    """
    loop = asyncio.get_running_loop()
    try:
        awaitables: object = authorizer.start(info)
    except (Exception, SystemExit) as error:
        raise refused_start(settings, error) from error
    if not isinstance(awaitables, Mapping):
        text = f"start returned {awaitables!r:.80}; expected is a mapping of endpoints"
        raise refused_start(settings, TypeError(text))
    return {each: as_future(awaitable, loop) for each, awaitable in awaitables.items()}


def _log() -> Logger:
    # Only what goes wrong is told here; a server inside a test logs without structlog.
    import structlog  # noqa: PLC0415

    logger: Logger = structlog.get_logger("doorkeeper.server")
    return logger


def one_line(error: BaseException) -> str:
    """Return an exception's text without line breaks."""
    return " ".join(str(error).split())


def placed(entries: Iterable[Entry], error: Exception) -> str:
    """Return the one line about a refused key, with its file and line where it begins with one."""
    text = one_line(error)
    sources = {entry.key: entry.source for entry in entries}
    source = sources.get(re.split("[:=]", text, maxsplit=1)[0], "")
    return f"{source}: {text}" if source else text


def refused_start(settings: Settings, error: BaseException) -> StartError:
    """Return the one line about an authorizer that does not start."""
    text = one_line(error) or type(error).__name__
    return StartError(f"{KEY}={settings.authorizer_class_name} does not start: {text}")


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
