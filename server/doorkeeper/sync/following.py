"""The task that follows the metadata log of one cluster.

While it follows, a long-polling Fetch returns at each record. Where it cannot, ``reason`` says why,
the cluster is polled, and the task tries again after pauses.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.base.slices import run_in_turns
from doorkeeper.client.errors import ApiFailure, ClientError
from doorkeeper.client.logged_acls import LogAcls
from doorkeeper.client.metadata_log import BEGIN, MetadataLog
from doorkeeper.client.properties import CommandConfigError
from doorkeeper.sync.drift import known_bindings
from doorkeeper_wire.errors import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings

_WAIT_MS: Final = 5_000
_UNCOMMITTED_S: Final = 0.01
"""The pause before records are asked for again that were not committed yet."""

_RETRY_S: Final = (0.1, 1.0, 5.0, 30.0)
_NO_ADDRESS: Final = "no controllers are configured"
_ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)
"""Errors after which another controller, or the same in a later epoch, is the leader."""

_FAILURES: Final = (ClientError, CommandConfigError, OSError, ValueError)


class LogFollower:
    """Follows the log of one cluster while it is started. For the event loop's thread."""

    def __init__(self, config: ClusterConfig, on_change: Callable[[], None]) -> None:
        """``on_change`` is called after changes of ACLs, and when following begins or ends."""
        self.reason = "not started" if config.controllers else _NO_ADDRESS
        """Why the log is not followed; empty while it is."""
        self.is_new = True
        """Whether the ACLs that are there were not compared with all those of the log yet."""
        self._config = config
        self._on_change = on_change
        self._acls = LogAcls()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_following(self) -> bool:
        return not self.reason

    @property
    def has_news(self) -> bool:
        """Return whether the log is followed, and says more than was looked up."""
        return self.is_following and bool(self.changes or self.is_new)

    @property
    def changes(self) -> dict[AclBinding, bool]:
        """The bindings that have changed, and whether they are there; the caller removes them."""
        return self._acls.changes

    async def compare(self, present: Bindings, scope: SelectorUnion) -> None:
        """Add the difference of the ACLs that were read from those of the log to the changes."""
        rows = list(self._acls.bindings.values())
        self.is_new = False

        def difference() -> dict[AclBinding, bool]:
            logged = frozenset(filter(scope.selects, known_bindings(rows)))
            return dict.fromkeys(present - logged, False) | dict.fromkeys(logged - present, True)

        # A hundred thousand ACLs take a part of a second. Later changes of the log count.
        for binding, is_there in (await asyncio.to_thread(difference)).items():
            self.changes.setdefault(binding, is_there)

    def start(self) -> None:
        """Follow the log, if controllers are configured."""
        if self._task is None and self._config.controllers:
            self._task = asyncio.get_running_loop().create_task(
                self._run(), name=f"metadata log of {self._config.name}"
            )

    async def close(self) -> None:
        """Stop."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.reason = "not started"

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                log = await MetadataLog.connect(controller_config(self._config))
                try:
                    await self._catch_up(log)
                    failures = 0
                    while True:
                        await self._fetch(log, _WAIT_MS)
                finally:
                    await log.close()
            except Exception as error:  # polling must go on in its place
                if isinstance(error, Malformed):
                    # A part may have been applied.
                    self._begin_anew()
                reason, is_lasting = _reason_of(error)
                failures = max(failures, len(_RETRY_S) - 1 if is_lasting else 0)
                self._stop(reason)
            await asyncio.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
            failures += 1

    async def _catch_up(self, log: MetadataLog) -> None:
        """Read the present log, then begin to follow."""
        while await self._fetch(log, 0):
            pass
        self.reason = ""
        self._on_change()

    async def _fetch(self, log: MetadataLog, wait_ms: int) -> bool:
        """Read and apply one part; return whether the log has more committed records."""
        acls = self._acls
        part = await log.fetch(acls.position, acls.position.offset, wait_ms)
        if part.is_other:
            # Committed records do not change: this is another log, as after a cluster made anew.
            self._begin_anew()
            raise ClientError("the metadata log is another one now")
        if part.snapshot is not None:
            # The log was truncated behind the position, or this is the first Fetch.
            content = await log.snapshot(part.snapshot)
            await asyncio.to_thread(acls.load, content, part.snapshot)
        else:
            before = acls.position
            # A part has up to 8 MB, a second of work.
            await run_in_turns(acls.apply(part.records, part.high_watermark), time.perf_counter)
            # Such a Fetch does not wait, and would be repeated without a pause.
            if part.records and acls.position == before:
                await asyncio.sleep(_UNCOMMITTED_S)
        # While it catches up, one call at the end is enough.
        if acls.changes and self.is_following:
            self._on_change()
        return acls.position.offset < part.high_watermark or part.snapshot is not None

    def _begin_anew(self) -> None:
        self._acls, self.is_new = LogAcls(), True

    def _stop(self, reason: str) -> None:
        was, self.reason = self.reason, reason
        if was != reason:
            self._on_change()


def _reason_of(error: Exception) -> tuple[str, bool]:
    """Return why the log cannot be followed, and whether that lasts until somebody ends it."""
    if isinstance(error, Malformed):
        return f"the log cannot be read: {error}", True
    if isinstance(error, ApiFailure):
        # An election takes moments.
        return str(error), error.code not in _ELSEWHERE
    if isinstance(error, _FAILURES):
        return str(error), False
    return f"a fault of this server: {error!r}", True


def controller_config(config: ClusterConfig) -> ClientConfig:
    """Return the configuration of a client of the controllers: that of the cluster otherwise."""
    return replace(config.client_config(), bootstrap=config.controllers, controllers=True)


async def log_refusal(config: ClusterConfig) -> str:
    """Return why the log of a cluster cannot be followed; empty if it can."""
    if not config.controllers:
        return _NO_ADDRESS
    try:
        log = await MetadataLog.connect(controller_config(config))
        try:
            await log.fetch(BEGIN, 0, 0)
        finally:
            await log.close()
    except _FAILURES as error:
        return str(error)
    return ""
