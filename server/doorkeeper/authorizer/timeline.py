"""The two states of the ACLs: the one that everybody sees, and the one that is being written.

    visible   what decisions and answers are made from; everything in it is durable
    tail      visible with every change that is on its way to the store applied

A request is planned on the tail, so that several may be on their way at once, and becomes
visible as a whole when the store has delivered it. Changes are delivered in the order in which
they were submitted. When one fails, those behind it were computed on what never came to be: they
all fail, and the tail returns to what is visible.

    submit A   visible 0   tail A          A is written
    submit B   visible 0   tail A B        B is planned on A
    A fails    visible 0   tail 0          both fail; the store fails B by itself as well
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from doorkeeper.acl.snapshot import EMPTY, Snapshot
from doorkeeper.storage.contract import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.storage.contract import Change, Store

    Settle = Callable[["StorageError | None"], None]


class _Pending:
    """A change on its way: the state it leads to and who waits for it."""

    __slots__ = ("settle", "snapshot")

    def __init__(self, snapshot: Snapshot, settle: Settle) -> None:
        self.snapshot = snapshot
        self.settle = settle


class Timeline:
    """Leads the states from change to change. Without a store a change is visible at once."""

    def __init__(self, store: Store | None, snapshot: Snapshot = EMPTY) -> None:
        """Begin with a durable state."""
        self.visible = snapshot
        self.tail = snapshot
        self._store = store
        self._pending: deque[_Pending] = deque()

    @property
    def settled(self) -> bool:
        """Say whether nothing is on its way."""
        return not self._pending

    def submit(self, change: Change, settle: Settle) -> None:
        """Apply a change to the tail and write it.

        ``settle`` is called once: with None when the change has become visible, or with the
        error when it never will. A change that is empty has no effect but waits its turn.
        """
        after = self.tail
        if change.bindings_removed:
            after = after.without(stored.binding for stored in change.bindings_removed)
        if change.bindings_added:
            after = after.with_added(change.bindings_added)
        self.tail = after
        if self._store is None:
            self.visible = after
            settle(None)
            return
        pending = _Pending(after, settle)
        self._pending.append(pending)
        self._store.submit(change, lambda outcome: self._deliver(pending, outcome))

    def _deliver(self, pending: _Pending, outcome: int | StorageError) -> None:
        if not self._pending or self._pending[0] is not pending:
            # It failed together with an earlier one and was settled then.
            return
        if isinstance(outcome, StorageError):
            self._fail_all(outcome)
            return
        self._pending.popleft()
        self.visible = pending.snapshot
        pending.settle(None)

    def _fail_all(self, error: StorageError) -> None:
        failed = tuple(self._pending)
        self._pending.clear()
        self.tail = self.visible
        for each in failed:
            each.settle(error)
