"""The two states of the ACLs: the one that everybody sees, and the one that is being written.

    visible   what decisions and answers are made from; everything in it is durable
    tail      visible with every change that is on its way to the store applied

A request is planned on the tail, so that several may be on their way at once, and becomes
visible as a whole when the store has delivered it. The store has a change before it is applied to
the tail, so that it is written while its state is made. Changes are delivered in the order in
which they were submitted. When one fails, those behind it were computed on what never came to be:
they all fail, and the tail returns to what is visible.

    submit A   visible 0   tail A          A is written
    submit B   visible 0   tail A B        B is planned on A
    A fails    visible 0   tail 0          both fail; the store fails B by itself as well

With a store that nodes share a request is planned when its turn comes, and what other nodes
changed before it is visible by then.

    submit B   visible 0     tail 0        B waits
    follow A   visible A     tail A        another node's
    plan B     visible A     tail A B      B is written
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from doorkeeper.acl.bulk import extended, load
from doorkeeper.acl.snapshot import EMPTY, Snapshot
from doorkeeper.collector import made_to_stay
from doorkeeper.storage.contract import Participant, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.storage.contract import Change, Store, StoredState

    Plan = Callable[[Snapshot], Change]
    Settle = Callable[["StorageError | None"], None]


MANY = 8
"""From so many bindings on it is faster to add them all at once."""


MANY_KEPT = 256
"""From so many bindings on, what a state of them is made of is kept from the collector's sight."""


class _Pending:
    """A change on its way, None until it is planned: who waits for it, the state it leads to."""

    __slots__ = ("change", "settle", "snapshot")

    def __init__(self, settle: Settle) -> None:
        self.change: Change | None = None
        self.snapshot: Snapshot | None = None
        self.settle = settle


class Timeline(Participant):
    """Leads the states from change to change. Without a store a change is visible at once."""

    def __init__(self, store: Store | None, snapshot: Snapshot | None = EMPTY) -> None:
        """Begin with a durable state; None: ``begin`` will give it when it has been read."""
        self.visible = self._tail = snapshot or EMPTY
        self._store = store
        self._pending: deque[_Pending] = deque()
        self._unapplied: deque[tuple[_Pending, Change]] = deque()
        self._begun = snapshot is not None
        self._early: list[Change] = []
        self._reloaded: Snapshot | None = None

    @property
    def tail(self) -> Snapshot:
        """Return the state that everything leads to which was planned."""
        if self._unapplied:
            self._apply()
        return self._tail

    def begin(self, snapshot: Snapshot) -> None:
        """Take the state with which the store was opened; nothing has been submitted before.

        What other nodes have changed since then is in it as well when this returns.
        """
        assert not self._pending
        state = snapshot if self._reloaded is None else self._reloaded
        for change in self._early:
            state = after(state, change)
        self._early, self._reloaded, self._begun = [], None, True
        self.visible = self._tail = state

    def submit(self, plan: Plan, settle: Settle) -> None:
        """Plan a change on the tail, write it and apply it there.

        ``plan`` may be called later, and again: see ``Store.submit``. ``settle`` is called once:
        with None when the change has become visible, or with the error when it never will. A
        change that is empty has no effect but waits its turn.
        """
        pending = _Pending(settle)

        def planned() -> Change:
            change = pending.change = plan(self.tail)
            self._unapplied.append((pending, change))
            return change

        if self._store is None:
            planned()
            self.visible = self.tail
            settle(None)
            return
        self._pending.append(pending)
        self._store.submit(planned, lambda outcome: self._deliver(pending, outcome))
        self._apply()

    def _apply(self) -> None:
        """Make the states of what was planned since."""
        while self._unapplied:
            pending, change = self._unapplied[0]
            self._tail = pending.snapshot = after(self._tail, change)
            self._unapplied.popleft()

    def _deliver(self, pending: _Pending, outcome: int | StorageError) -> None:
        if not isinstance(outcome, StorageError):
            if self._pending and self._pending[0] is pending:
                self._apply()
                assert pending.snapshot is not None
                self._pending.popleft()
                self.visible = pending.snapshot
                pending.settle(None)
        elif pending not in self._pending:
            # It failed together with an earlier one and was settled then.
            pass
        elif pending.change is None:
            # Nothing was planned on it.
            self._pending.remove(pending)
            pending.settle(outcome)
        else:
            self._fail_planned(outcome)

    def _fail_planned(self, error: StorageError) -> None:
        failed = [each for each in self._pending if each.change is not None]
        self._pending = deque(each for each in self._pending if each.change is None)
        self._return()
        for each in failed:
            each.settle(error)

    def rewind(self) -> None:
        """Forget what was planned and is not durable."""
        for each in self._pending:
            each.change = each.snapshot = None
        self._return()

    def _return(self) -> None:
        """Go back to what is visible."""
        self._unapplied.clear()
        self._tail = self.visible

    def follow(self, change: Change) -> None:
        """Make a change of another node visible."""
        if self._begun:
            self.visible = self._tail = after(self.visible, change)
        else:
            self._early.append(change)

    async def reload(self, state: StoredState) -> None:
        """Make a whole state visible; it is built beside the loop."""
        loop = asyncio.get_running_loop()
        snapshot = await loop.run_in_executor(None, load, state.bindings)
        if self._begun:
            self.visible = self._tail = snapshot
        else:
            self._reloaded, self._early = snapshot, []


def after(snapshot: Snapshot, change: Change) -> Snapshot:
    """Return the state that a change leads to."""
    if len(change.bindings_added) + len(change.bindings_removed) < MANY_KEPT:
        return _after(snapshot, change)
    with made_to_stay():
        return _after(snapshot, change)


def _after(snapshot: Snapshot, change: Change) -> Snapshot:
    if change.bindings_removed:
        snapshot = snapshot.without(stored.binding for stored in change.bindings_removed)
    added = change.bindings_added
    if added:
        many = len(added) >= MANY
        snapshot = extended(snapshot, added) if many else snapshot.with_added(added)
    return snapshot
