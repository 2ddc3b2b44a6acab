"""The server of ``doorkeeper learn``: in memory, on a free port of the loopback interface.

The command under observation is a child process, which gets the signals of this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct

from doorkeeper.server.operations.logs.pipeline import Logs

# The log first: it prevents structlog from importing unused modules.
from doorkeeper.server.app.assembly import Assembly  # isort: skip
from collections.abc import Iterable, Sequence

from doorkeeper.acls.entities.model import Entity
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.recorded_access import RecordedAccess
from doorkeeper.base.uuids import random_uuid
from doorkeeper.cli.learn.recorder import Recorder
from doorkeeper.server.app.stores import initial_rows
from doorkeeper.server.config.loading import load_values
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.net import new_runner
from doorkeeper.server.operations.logs.pipeline import command_logs
from doorkeeper.server.resources.topics.initial import initial_topics
from doorkeeper.server.schema.acls import BindingIds, StoredBinding
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import ACL, TOPIC
from doorkeeper.server.state.memory import MemoryStore

_STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_LEARNING = "doorkeeper.cli.learn.authorizer.LearningAuthorizer"


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

    def take(number: int, _frame: object) -> None:
        # Before the start: signals that come meanwhile are forwarded when there is a process.
        loop.call_soon_threadsafe(started.add_done_callback, partial(forward, number))

    # Not by the loop: uvloop may handle a signal twice when another one comes with it.
    handlers = {number: signal.signal(number, take) for number in FORWARDED}
    try:
        process = await asyncio.create_subprocess_exec(*words, env=environment)
        started.set_result(process)
        status = await process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return status if status >= 0 else SIGNAL_STATUS - status


def _is_foreground() -> bool:
    for descriptor in range(3):
        with suppress(OSError):
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    return False


class Run(Struct, frozen=True):
    """The exit status of a command, and its authorization requests."""

    status: int
    accesses: list[RecordedAccess]


def observe(
    words: Sequence[str],
    *,
    acls: Iterable[AclBinding] | None,
    entities: Iterable[Entity],
) -> Run:
    """Run a command against a server of its own, which has the topics among ``entities``.

    ``acls`` are enforced; with None everything is allowed.

    Raises:
        ValueError: a topic cannot be.
        StartError: the server does not start, or the test broker is not installed.
        OSError: the command cannot be started.
    """
    keys = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "authorizer.class.name": _LEARNING if acls is None else _STANDARD,
        "super.users": "",
        "doorkeeper.test.broker": "true",
        # The output is that of the command.
        "doorkeeper.log.levels": "root=ERROR",
        "doorkeeper.shutdown.drain.ms": "200",
    }
    initial = {**_stored_acls(acls or ()), **edit(TOPIC, set=initial_topics(entities, os.urandom))}
    settings = load_values(keys, "learn").settings
    with command_logs(logging.ERROR) as logs, new_runner() as runner:
        return runner.run(_observe(settings, logs, initial, words))


def _stored_acls(acls: Iterable[AclBinding]) -> Change:
    new = dict.fromkeys(acls)
    return edit(ACL, set=map(StoredBinding, BindingIds()(len(new)), new))


async def _observe(settings: Settings, logs: Logs, initial: Change, words: Sequence[str]) -> Run:
    store = MemoryStore(
        {**initial_rows(settings), **initial},
        cluster_id=random_uuid(os.urandom),
        salt_key=os.urandom(32),
    )
    async with Assembly(settings, logs, store=store) as assembly:
        await assembly.start()
        assert assembly.guarded is not None, "the configuration names an authorizer"
        recorder = Recorder(assembly.guarded, time.time_ns)
        (address,) = assembly.addresses.values()
        status = await run_command(words, address)
    return Run(status, recorder.accesses())
