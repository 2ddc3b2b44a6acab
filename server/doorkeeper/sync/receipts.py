"""The revision that all brokers of a cluster enforce, and waiting for one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.state.state import State
    from doorkeeper.sync.drift import AclDrift

_CHANGES_MAX: Final = 10_000
"""The most bindings whose changes are kept; after more of them all ACLs are read."""


class Receipt(NamedTuple):
    """A revision that these brokers enforce, since a time in milliseconds.

    The ACLs of the scope on each of them were those of ``state`` when they were read. The last
    reading began at ``read_s`` of the event loop's clock.
    """

    state: State
    since_ms: int
    brokers: tuple[int, ...]
    read_s: float

    @property
    def revision(self) -> int:
        return self.state.revision


class ReceiptBook:
    """The newest receipt of a cluster, the brokers without one, and the waiting tasks."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        """``on_wait`` is called when a receipt is needed."""
        self.last: Receipt | None = None
        self.pending: Mapping[int, str] = {}
        """The brokers that do not enforce the newest revision, and the reason of each."""
        self.waiters: list[frozenset[AclBinding]] = []
        """The bindings of the change of each task that waits for a receipt."""
        self.changed: set[AclBinding] | None = set()
        """The bindings to ask for since the last receipt; None for so many that all are read.

        They became desired, or undesired, or a broker differed in them.
        """
        self._on_wait = on_wait
        self._confirmed = asyncio.Event()
        self._is_interrupted = False
        self._is_closed = False

    def close(self) -> None:
        """End all waits, as of a cluster that is not kept any more."""
        self._is_closed = True
        self._confirmed.set()

    def interrupt(self, drift: AclDrift) -> None:
        """Note that a broker differed: the next receipt is of a later time, after an answer."""
        if drift:
            self._is_interrupted = True
            self.note(drift.missing)
            self.note(drift.extra)

    @property
    def has_changes(self) -> bool:
        """Whether there are bindings to ask for since the last receipt."""
        return self.changed is None or bool(self.changed)

    def note(self, bindings: Iterable[AclBinding]) -> None:
        """Take bindings that every broker is to be asked for."""
        if self.changed is not None:
            self.changed.update(bindings)
            # A node that does not hold the cluster may need no receipt for months.
            if len(self.changed) > _CHANGES_MAX:
                self.changed = None

    def confirm(
        self,
        state: State,
        brokers: tuple[int, ...],
        *,
        read_s: float,
        now_ms: int,
    ) -> bool:
        """Record that brokers enforce a state; return whether their ACLs are others than before."""
        last = self.last
        is_new = last is None or self._is_interrupted or self.has_changes or last.brokers != brokers
        since_ms = now_ms if last is None or is_new else last.since_ms
        self.last, self.pending = Receipt(state, since_ms, brokers, read_s), {}
        self._is_interrupted = False
        self.changed = set()
        confirmed, self._confirmed = self._confirmed, asyncio.Event()
        confirmed.set()
        return is_new

    async def wait_for(self, revision: int, changed: frozenset[AclBinding]) -> None:
        """Return when all brokers, asked from now on, enforce this revision or a later one.

        After ``close`` return at once.
        """
        # A change outside of the scope needs no new answers, only the receipt of its revision.
        now_s = asyncio.get_running_loop().time() if changed else 0.0
        self.waiters.append(changed)
        try:
            while not (self._is_closed or self._covers(revision, now_s)):
                self._on_wait()
                await self._confirmed.wait()
        finally:
            self.waiters.remove(changed)

    def _covers(self, revision: int, read_s: float) -> bool:
        # A reading from before the change may be of ACLs that others have removed meanwhile.
        last = self.last
        return last is not None and last.revision >= revision and last.read_s >= read_s
