"""The life of the process: log, event loop, signals, garbage collector, exit status."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from doorkeeper.base.garbage_collection import limit_collections
from doorkeeper.base.version import __version__
from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.config_check import warnings_of
from doorkeeper.server.app.reload import reload
from doorkeeper.server.app.service_manager import ADDRESS, READY, STOPPING, notify, reloading
from doorkeeper.server.config.keys import AUTHORIZER_CLASS_NAME, LOG_FORMAT, LOG_LEVELS
from doorkeeper.server.config.loading import Loaded
from doorkeeper.server.net import new_runner
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.operations.logs.pipeline import Logger, Logs
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.runtime.threads import PlugInThreads

_IMPORTED_S = time.monotonic()
_START_TIME_FIELD = 22

STDOUT = 1
STDERR = 2
# Made here: without memory it could not be.
_OUT_OF_MEMORY = b"doorkeeper: out of memory: the process ends\n"
STOPS = (signal.SIGTERM, signal.SIGINT)
# The switch interval of threads, 5 ms by default. The store's thread needs Python's global lock
# briefly between calls into SQLite, while all changes of its batch wait.
SWITCH_S = 0.0005

SIGNAL_STATUS = 128
"""Exit status of a process that a second signal ends, without the signal's number; as in a shell.
"""


def serve(
    file: Path | None,
    overrides: Sequence[str],
    loaded: Loaded,
    connect: Callable[..., Connection] = Connection,
) -> None:
    """Run a server until a signal stops it; ``connect`` is as in ``Assembly``.

    Raises:
        StartError: it does not start.
    """
    sys.setswitchinterval(SWITCH_S)
    write_whole_lines(sys.stdout)
    settings = loaded.settings
    logs = Logs(
        descriptor=STDOUT,
        form=settings[LOG_FORMAT],
        terminal=os.isatty(STDOUT),
        levels=settings[LOG_LEVELS],
        now_ns=time.time_ns,
    )
    try:
        with new_runner() as runner:
            runner.run(_Process(file, overrides, loaded, logs, connect).run())
    finally:
        logs.close()


def write_whole_lines(stream: TextIO) -> None:
    """Write what a plug-in prints line by line, so that it never splits a line of the log.

    With PYTHONUNBUFFERED=1 ``print`` writes the text and its newline separately; without it, a
    pipe gets 8 KiB at a time, wherever a line ends. Lines over 4 KiB are not atomic on a pipe.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(line_buffering=True, write_through=False)


def end_without_memory(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle an error that reached the event loop: without memory the process ends at once.

    A connection or a task would be left behind half done, and so the server half alive. Whatever
    was acknowledged is durable, and the service manager starts a new process.
    """
    if isinstance(context.get("exception"), MemoryError):
        os.write(STDERR, _OUT_OF_MEMORY)
        os._exit(1)
    loop.default_exception_handler(context)


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
        self._ending = False
        self._reloading: set[asyncio.Future[None]] = set()

    async def run(self) -> None:
        """Start, serve and drain."""
        for warning in warnings_of(self._loaded.source):
            self._log.warning(warning)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(end_without_memory)
        loop.set_default_executor(PlugInThreads())
        for number in STOPS:
            # Not by the loop: it may be blocked, for example by an authorizer, and uvloop may
            # handle a signal twice when another one comes with it.
            signal.signal(number, self._stop)
        # SIGHUP must not end the process before there is something to reload.
        loop.add_signal_handler(signal.SIGHUP, self._log.info, "not reloaded: still starting")
        try:
            await self._serve(Assembly(self._loaded.settings, self._logs, connect=self._connect))
        finally:
            self._ending = True

    async def _serve(self, assembly: Assembly) -> None:
        async with assembly:
            if await self._start(assembly):
                # After the start, whose objects live as long as the process.
                limit_collections()
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload, assembly)
                authorizer = assembly.guarded
                self._log.info(
                    "started",
                    version=__version__,
                    listeners=assembly.addresses,
                    node_id=assembly.node.node_id,
                    cluster_id=assembly.node.cluster_id,
                    authorizer=self._loaded.settings[AUTHORIZER_CLASS_NAME] or "none",
                    acls=0 if authorizer is None else authorizer.acl_count(),
                    ms=_process_age_ms(),
                )
                self._notify(READY)
                await self._stopping.wait()
                for task in self._reloading:
                    task.cancel()
            self._notify(STOPPING)
            self._log.info("stopping")
        self._log.info("stopped")

    async def _start(self, assembly: Assembly) -> bool:
        """Start unless a signal comes first; return whether the server serves."""
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

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if not self._ending:
            self._ending = True
            asyncio.get_running_loop().call_soon_threadsafe(self._stopping.set)
            return
        # From a new thread: the interrupted code may hold a lock of the log.
        threading.Thread(
            target=self._exit, args=(number,), name="doorkeeper-end", daemon=True
        ).start()

    def _exit(self, number: int) -> None:
        self._logs.close()
        os._exit(SIGNAL_STATUS + number)

    def _reload(self, assembly: Assembly) -> None:
        self._notify(reloading(time.monotonic_ns()))
        task = asyncio.ensure_future(reload(self._file, self._overrides, assembly))
        self._reloading.add(task)
        task.add_done_callback(self._reloaded)

    def _reloaded(self, task: asyncio.Future[None]) -> None:
        self._reloading.discard(task)
        if not self._reloading and not self._stopping.is_set():
            self._notify(READY)

    def _notify(self, state: str) -> None:
        notify(os.environ.get(ADDRESS), state)


def _process_age_ms() -> int:
    """Return the age of this process in milliseconds; without /proc, since this import."""
    stat = Path("/proc/self/stat")
    try:
        # The second field is the command in brackets, and may hold anything.
        fields = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
        started = int(fields[_START_TIME_FIELD - 3]) / os.sysconf("SC_CLK_TCK")
        return int((time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000)
    except (OSError, ValueError, IndexError, AttributeError):
        return int((time.monotonic() - _IMPORTED_S) * 1000)
