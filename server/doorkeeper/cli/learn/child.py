"""The command under observation: a child process that gets the signals of this process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

ADDRESS_VARIABLES: Final = (
    "KAFKA_BOOTSTRAP_SERVERS",
    "BOOTSTRAP_SERVERS",
    "DOORKEEPER_BOOTSTRAP_SERVERS",
)
"""The environment variables in which the command finds the address."""

FORWARDED: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)

SIGNAL_STATUS: Final = 128
"""Added to the number of the signal that ended the command, as in a shell."""


async def run_command(words: Sequence[str], address: str) -> int:
    """Run a command to its end, and return its exit status.

    Raises:
        OSError: it cannot be started.
    """
    environment = {**os.environ, **dict.fromkeys(ADDRESS_VARIABLES, address)}
    loop = asyncio.get_running_loop()
    started: asyncio.Future[asyncio.subprocess.Process] = loop.create_future()

    def forward(number: int, _: object) -> None:
        # A terminal sends Ctrl-C and Ctrl-\ to the child too, which is in the same process group.
        if number in (signal.SIGINT, signal.SIGQUIT) and _is_foreground():
            return
        with suppress(ProcessLookupError):
            started.result().send_signal(number)

    for number in FORWARDED:
        # Before the start: signals that come meanwhile are forwarded when there is a process.
        loop.add_signal_handler(number, started.add_done_callback, partial(forward, number))
    try:
        process = await asyncio.create_subprocess_exec(*words, env=environment)
        started.set_result(process)
        status = await process.wait()
    finally:
        for number in FORWARDED:
            loop.remove_signal_handler(number)
    return status if status >= 0 else SIGNAL_STATUS - status


async def wait_for_end() -> int:
    """Wait for SIGINT or SIGTERM; return the status 0."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in _ENDING:
        loop.add_signal_handler(number, ended.set)
    try:
        await ended.wait()
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
    return 0


def _is_foreground() -> bool:
    for descriptor in range(3):
        with suppress(OSError):
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    return False
