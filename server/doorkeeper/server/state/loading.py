"""Build a state from the rows of a store: at the start, and when a node reloads everything."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, KINDS
from doorkeeper.server.schema.kind import Kind
from doorkeeper.server.state.state import EMPTY, State, apply_at_once

T = TypeVar("T")

# From this count on, ACLs are frozen: a full collection over a million of them stops the server for
# half a second and frees nothing.
FREEZE_FROM: Final = 10_000


def state_without_acls(revision: int, rows: Callable[[Kind], Iterable[Any]]) -> State:
    """Return the state of all rows except the ACLs, which ``load_snapshot`` loads in a thread."""
    state = replace(EMPTY, revision=revision)
    for kind in KINDS.values():
        if kind is not ACL:
            state = apply_at_once(state, edit(kind, set=rows(kind)))
    return state


def load_snapshot(rows: Iterable[StoredBinding], is_closing: Callable[[], bool]) -> Snapshot:
    """Return the snapshot of ACLs; in any thread. Stop early once ``is_closing`` returns True."""
    with collection_paused():
        snapshot = load(_until(is_closing, rows))
    if snapshot.count >= FREEZE_FROM:
        gc.freeze()
    return snapshot


def with_acls(state: State, acls: Snapshot) -> State:
    """Return the state with its ACLs, under the rules of its features."""
    enabled = state.acls.matches_networks
    return replace(state, acls=acls.with_network_matching(enabled=enabled))


def _until(is_closing: Callable[[], bool], rows: Iterable[T]) -> Iterator[T]:
    for row in rows:
        if is_closing():
            return
        yield row
