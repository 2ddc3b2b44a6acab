"""The task that follows the metadata log of one cluster.

While it follows, a long-polling Fetch returns at each record. Where it cannot, ``reason`` says why,
the cluster is polled, and the task tries again after pauses.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from doorkeeper.client.logged_acls import LogAcls, OtherLog
from doorkeeper.client.metadata_log import BEGIN, MetadataLog
from doorkeeper.sync.remote import FAILURES
from doorkeeper_wire.errors import Malformed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.sync.config import ClusterConfig

_WAIT_MS: Final = 5_000

_RETRY_S: Final = (0.1, 1.0, 5.0, 30.0)
"""Pauses after failures: an election takes moments, a missing permission lasts."""

_NOT_STARTED: Final = "not started"
_NO_ADDRESS: Final = "no controllers are configured"


class OwnTask(ABC):
    """Work in a task of its own, from ``start`` to ``stop``. For the event loop's thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @abstractmethod
    async def _run(self) -> None: ...


class LogFollower(OwnTask):
    """Follows the log of one cluster with controllers while it is started."""

    def __init__(self, config: ClusterConfig, on_change: Callable[[], None]) -> None:
        """``on_change`` is called after changes of ACLs, and when following begins or ends."""
        self.reason = _NOT_STARTED if config.controllers else _NO_ADDRESS
        """Why the log is not followed; empty while it is."""
        self.is_new = True
        """Whether the cluster was not read yet since the log was followed from its beginning."""
        super().__init__(f"metadata log of {config.name}")
        self._config = config
        self._on_change = on_change
        self._acls = LogAcls()

    @property
    def is_following(self) -> bool:
        return not self.reason

    @property
    def has_news(self) -> bool:
        """Return whether the log is followed, and says more than was looked up."""
        return self.is_following and bool(self.changes)

    @property
    def changes(self) -> dict[AclBinding, bool]:
        """The bindings that have changed, and whether they are there; the caller removes them."""
        return self._acls.changes

    async def stop(self) -> None:
        await super().stop()
        if self._config.controllers:
            self.reason = _NOT_STARTED

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                async with _connected(self._config) as log:
                    while True:
                        is_end = await self._acls.read(log, _WAIT_MS if self.is_following else 0)
                        if is_end and not self.is_following:
                            failures = 0
                            self._tell("")
                        elif self.has_news:
                            # While it catches up, one call at the end is enough.
                            self._on_change()
            except (Malformed, OtherLog) as error:
                # A part may have been applied.
                self._acls, self.is_new = LogAcls(), True
                self._tell(f"cannot read the log: {error}")
            except FAILURES as error:
                self._tell(str(error))
            except Exception as error:  # polling must go on in its place
                self._tell(f"a fault of this server: {error!r}")
            await asyncio.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
            failures += 1

    def _tell(self, reason: str) -> None:
        before, self.reason = self.reason, reason
        if before != reason:
            self._on_change()


@asynccontextmanager
async def _connected(config: ClusterConfig) -> AsyncIterator[MetadataLog]:
    """Connect to the controllers, with the properties of the cluster's client otherwise."""
    client = replace(config.client_config(), bootstrap=config.controllers, controllers=True)
    log = await MetadataLog.connect(client)
    try:
        yield log
    finally:
        await log.close()


async def log_refusal(config: ClusterConfig) -> str:
    """Return why the log of a cluster cannot be followed; empty if it can."""
    if not config.controllers:
        return _NO_ADDRESS
    try:
        async with _connected(config) as log:
            await log.fetch(BEGIN, 0, 0)
    except FAILURES as error:
        return str(error)
    return ""
