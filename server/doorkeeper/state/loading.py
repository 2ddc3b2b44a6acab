"""Makes a state of the rows of a store: at the start, and when everything is read again."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.acl.bulk import load
from doorkeeper.kinds.change import edit
from doorkeeper.kinds.declared import ACL, KINDS
from doorkeeper.runtime.garbage_collection import collection_paused
from doorkeeper.state.state import EMPTY, State, applied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.kinds.acls import StoredBinding
    from doorkeeper.kinds.kind import Kind

T = TypeVar("T")

FREEZE_FROM: Final = 10_000
"""From so many ACLs on they are taken out of the garbage collector's sight: a full collection over
a million of them stops the server for half a second, and finds nothing."""


def state_without_acls(revision: int, rows: Callable[[Kind], Iterable[Any]]) -> State:
    """Return the state of all rows but the ACLs, of which there may be very many."""
    state = EMPTY._replace(revision=revision)
    for kind in KINDS.values():
        if kind is not ACL:
            state = applied(state, edit(kind, set=rows(kind)))
    return state


def load_snapshot(rows: Iterable[StoredBinding], is_closing: Callable[[], bool]) -> Snapshot:
    """Return the snapshot of ACLs; in any thread. The reading stops where the server does."""
    with collection_paused():
        snapshot = load(_until(is_closing, rows))
    if snapshot.count >= FREEZE_FROM:
        gc.freeze()
    return snapshot


def _until(is_closing: Callable[[], bool], rows: Iterable[T]) -> Iterator[T]:
    for row in rows:
        if is_closing():
            return
        yield row
