"""The revision that all brokers of a cluster enforce, and waiting for one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from doorkeeper.sync.drift import NO_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.state.state import State
    from doorkeeper.sync.drift import Bindings

_CHANGES_MAX: Final = 10_000
"""The most bindings whose changes are kept; after more of them all ACLs are read."""


class ReceiptBook:
    """The newest receipt of a cluster, the brokers without one, and the waiting tasks."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        """``on_wait`` is called when a receipt is needed."""
        self.state: State | None = None
        """The state whose ACLs of the scope the brokers had; None without a receipt."""
        self.since_ms: int | None = None
        """Since when they enforce them."""
        self.brokers: tuple[int, ...] = ()
        self.read_s = 0.0
        """When the last reading began, by the event loop's clock."""
        self.pending: Mapping[int, str] = {}
        """The brokers that do not enforce the newest revision, and the reason of each."""
        self.waiters: list[Bindings] = []
        """The bindings of the change of each task that waits for a receipt."""
        self._changed: set[AclBinding] | None = set()
        """The bindings to ask for since the last receipt; None for so many that all are read.

        They became desired, or undesired, or a broker differed in them.
        """
        self._on_wait = on_wait
        self._confirmed = asyncio.Event()
        self._is_closed = False

    def close(self) -> None:
        """End all waits: the cluster is not kept any more."""
        self._is_closed = True
        self._confirmed.set()

    def note(self, bindings: Iterable[AclBinding]) -> None:
        """Take bindings that every broker is to be asked for; the next receipt is a later one."""
        if self._changed is not None:
            self._changed.update(bindings)
            # A node that does not hold the cluster may need no receipt for months.
            if len(self._changed) > _CHANGES_MAX:
                self._changed = None

    @property
    def revision(self) -> int | None:
        return None if self.state is None else self.state.revision

    @property
    def changed(self) -> Bindings:
        """Return the ACLs that brokers are asked for since the last receipt; none to read all."""
        if self.state is None or self._changed is None:
            return NO_BINDINGS
        return NO_BINDINGS.union(self._changed, *self.waiters)

    def is_valid(self, brokers: tuple[int, ...]) -> bool:
        """Return whether nothing has changed for these brokers since the last receipt.

        A revision outside the scope, or of another kind of state, needs no new answers.
        """
        return self.state is not None and self.brokers == brokers and self._changed == set()

    def confirm(
        self, state: State, brokers: tuple[int, ...], *, read_s: float, now_ms: int
    ) -> bool:
        """Record that brokers enforce a state; return whether that is to be reported.

        It is where their ACLs are others than before, and for the history of a revision: also where
        none of its ACLs is in the scope.
        """
        last = self.state if self.is_valid(brokers) else None
        if last is None:
            self.since_ms = now_ms
        self.state, self.brokers, self.read_s, self.pending = state, brokers, read_s, {}
        self._changed = set()
        self._confirmed.set()
        self._confirmed = asyncio.Event()
        return last is None or last.acls is not state.acls

    async def wait_for(self, revision: int, changed: Bindings) -> None:
        """Return when all brokers, asked from now on, enforce this revision or a later one.

        After ``close`` return at once.
        """
        # A change outside of the scope needs no new answers, only the receipt of its revision.
        now_s = asyncio.get_running_loop().time() if changed else 0.0
        self.waiters.append(changed)
        try:
            while not (self._is_closed or self.has(revision, now_s)):
                self._on_wait()
                await self._confirmed.wait()
        finally:
            self.waiters.remove(changed)

    def has(self, revision: int, read_s: float = 0.0) -> bool:
        """Return whether this revision or a later one was confirmed, by a reading since a time.

        A reading from before a change may be of ACLs that others have removed meanwhile.
        """
        state = self.state
        return state is not None and state.revision >= revision and self.read_s >= read_s
