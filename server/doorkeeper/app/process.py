"""The life of the process: log, event loop, signals, garbage collector, exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from doorkeeper.logs.pipeline import Logs

# First the log: it keeps structlog from importing what nobody needs.
import structlog  # isort: skip

from doorkeeper.app.assembly import Assembly
from doorkeeper.app.reload import reload
from doorkeeper.config.loading import STANDARD_AUTHORIZER
from doorkeeper.connection.connection import Connection
from doorkeeper.net import new_runner
from doorkeeper.runtime.garbage_collection import limit_collections
from doorkeeper.runtime.process_age import process_age_ms
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

    from doorkeeper.config.loading import Loaded
    from doorkeeper.logs.pipeline import Logger

STDOUT = 1
STOPS = (signal.SIGTERM, signal.SIGINT)
SWITCH_S = 0.0005
"""How long one thread may keep Python's lock from another that waits for it; usually it is 5 ms.

The store's thread needs it for moments, between two calls into SQLite, and everybody whose change
it writes waits with it."""

SIGNAL_STATUS = 128
"""A process that a second signal ends has this status plus the signal's number, as in a shell."""


def serve(
    file: Path | None,
    overrides: Sequence[str],
    loaded: Loaded,
    connect: Callable[..., Connection] = Connection,
) -> None:
    """Run a server until a signal ends it; ``connect`` is as ``Assembly`` takes it.

    Raises:
        StartError: it does not start.

    """
    sys.setswitchinterval(SWITCH_S)
    settings = loaded.settings
    logs = Logs(
        descriptor=STDOUT,
        form=settings.log_format,
        terminal=os.isatty(STDOUT),
        levels=settings.log_levels,
        now_ns=time.time_ns,
    )
    try:
        with new_runner() as runner:
            runner.run(_Process(file, overrides, loaded, logs, connect).run())
    finally:
        logs.close()


class _Process:
    """One run of the server."""

    def __init__(
        self,
        file: Path | None,
        overrides: Sequence[str],
        loaded: Loaded,
        logs: Logs,
        connect: Callable[..., Connection],
    ) -> None:
        self._file = file
        self._overrides = overrides
        self._loaded = loaded
        self._logs = logs
        self._connect = connect
        self._log: Logger = structlog.get_logger("doorkeeper.server")
        self._stopping = asyncio.Event()
        self._reloading: set[asyncio.Future[None]] = set()

    async def run(self) -> None:
        """Start, serve, drain."""
        for warning in self._loaded.warnings:
            self._log.warning(warning)
        loop = asyncio.get_running_loop()
        # uvloop's own would have threads whose names do not say whose they are.
        loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="doorkeeper-loop"))
        for number in STOPS:
            loop.add_signal_handler(number, self._stop, number)
        settings = self._loaded.settings
        # Until there is something to reload, the signal must not end the process.
        loop.add_signal_handler(signal.SIGHUP, self._log.info, "not reloaded: still starting")
        assembly = Assembly(settings, self._logs, connect=self._connect)
        async with assembly:
            if await self._started(assembly):
                limit_collections()
                loop.add_signal_handler(signal.SIGHUP, self._reload, assembly)
                self._tell_start(assembly)
                await self._stopping.wait()
                for reloading in self._reloading:
                    reloading.cancel()
            self._log.info("stopping")
        self._log.info("stopped")

    async def _started(self, assembly: Assembly) -> bool:
        """Start, unless a signal comes first; say whether the server serves."""
        starting = asyncio.ensure_future(assembly.start())
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not starting.done():
            starting.cancel()
            await asyncio.wait((starting,))
            return False
        starting.result()
        return True

    def _tell_start(self, assembly: Assembly) -> None:
        settings = self._loaded.settings
        authorizer = assembly.guarded
        self._log.info(
            "started",
            version=__version__,
            listeners=assembly.addresses,
            node_id=settings.node_id,
            cluster_id=assembly.node.cluster_id,
            authorizer=settings.authorizer_class_name or "none",
            acls=0 if authorizer is None else authorizer.acl_count(),
            ms=process_age_ms(),
        )
        if authorizer is not None:
            return
        text = (
            "everything is allowed: there is no authorizer; to turn ACLs on give"
            f" authorizer.class.name={STANDARD_AUTHORIZER}"
        )
        if any(listener.authenticates for listener in settings.listeners):
            self._log.warning(text)
        else:
            self._log.info(text)

    def _stop(self, number: int) -> None:
        if self._stopping.is_set():
            self._end_now(number)
        self._stopping.set()
        for each in STOPS:
            # The loop may be held up by then, by an authorizer for example: beside what the loop
            # calls, the second one has a handler that needs no loop.
            signal.signal(each, self._end_now)

    def _end_now(self, number: int, _frame: FrameType | None = None) -> None:
        """End in a thread: what the signal has interrupted may hold a lock of the log."""
        threading.Thread(
            target=self._exit, args=(number,), name="doorkeeper-end", daemon=True
        ).start()

    def _exit(self, number: int) -> None:
        self._logs.close()
        os._exit(SIGNAL_STATUS + number)

    def _reload(self, assembly: Assembly) -> None:
        reloading = asyncio.ensure_future(reload(self._file, self._overrides, assembly))
        self._reloading.add(reloading)
        reloading.add_done_callback(self._reloading.discard)
