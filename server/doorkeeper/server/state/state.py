"""The immutable state of a node, and how a change makes the next one.

``apply`` alone gives states other rows: on the node that wrote a change, on its followers, in
tests, and from the rows of a store, at the start and when a node reloads everything.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from itertools import takewhile
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.snapshot import EMPTY as NO_ACLS
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.garbage_collection import collection_paused, frozen_allocations
from doorkeeper.base.slices import Slices, run_to_end
from doorkeeper.server.resources.cluster import Group, Member
from doorkeeper.server.resources.groups import Offsets, all_groups
from doorkeeper.server.resources.quotas import ClientQuotas
from doorkeeper.server.resources.settings.resources import ResourceConfigs
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.resources.users import ScramUsers
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import (
    ACL,
    CONFIG,
    FEATURE,
    KINDS,
    SETTING,
    TOKEN,
    StoredConfig,
    StoredFeature,
    StoredSetting,
    StoredToken,
)
from doorkeeper.server.schema.features import has_networks, metadata_level
from doorkeeper.server.schema.kind import Kind, Table

# About a millisecond of work for ACLs.
ROWS_PER_SLICE: Final = 256


class State(Struct, frozen=True):
    """All data that a node serves, at one revision. Compare states with ``is``.

    The fields after the stored kinds are local to this node: ``live_groups`` that clients have
    joined (with the test broker alone), and ``members``, the brokers of the cluster with this one.
    ``stale`` is True while the node has been disconnected from its store for longer than its
    maximum age.
    """

    revision: int = 0
    acls: Snapshot = NO_ACLS
    topics: Topics = Topics()
    configs: Table[StoredConfig] = Table(CONFIG)
    credentials: ScramUsers = ScramUsers()
    tokens: Table[StoredToken] = Table(TOKEN)
    quotas: ClientQuotas = ClientQuotas()
    features: Table[StoredFeature] = Table(FEATURE)
    offsets: Offsets = Offsets()
    resource_configs: ResourceConfigs = ResourceConfigs()
    settings: Table[StoredSetting] = Table(SETTING)
    live_groups: Mapping[str, Group] = {}
    members: tuple[Member, ...] = ()
    stale: bool = False

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return all groups by id, joined or of offsets."""
        return all_groups(self.offsets, self.live_groups)


EMPTY: Final = State()


def check_fields(kinds: Iterable[Kind], state: State) -> None:
    """Check that each kind has its table in the state.

    Raises:
        TypeError: naming the kind and its field.
    """
    for kind in kinds:
        if not hasattr(getattr(state, kind.field, None), "with_changes"):
            raise TypeError(
                f"schemas/state/{kind.name}.yaml: the kind has its rows in the field {kind.field},"
                f" and State ({__file__}) has no table of this name; add one, such as"
                f" {kind.field}: Table[{kind.row.__name__}] = Table({kind.name.upper()})"
            )


check_fields(KINDS.values(), EMPTY)


def apply(state: State, change: Change, revision: int | None = None) -> State | Slices[State]:
    """Return the state after a change; a large one in slices of ``ROWS_PER_SLICE`` rows.

    A ``revision`` of None keeps that of the state.
    """
    fields: dict[str, Any] = {}
    if revision is not None:
        fields["revision"] = revision
    for kind, (set_, deleted) in change.items():
        if len(set_) + len(deleted) > ROWS_PER_SLICE:
            return _apply_in_slices(state, change, fields)
        fields[kind.field] = getattr(state, kind.field).with_changes(set_, deleted)
    return _with_release(state, fields) if "features" in fields else replace(state, **fields)


def _apply_in_slices(state: State, change: Change, fields: dict[str, Any]) -> Slices[State]:
    for kind, rows in change.items():
        table = getattr(state, kind.field)
        for part in rows.parts(ROWS_PER_SLICE):
            # The garbage collector must not traverse the objects of very many new ACLs.
            with frozen_allocations() if kind is ACL else nullcontext():
                table = table.with_changes(part.set, part.deleted)
            yield
        fields[kind.field] = table
    return _with_release(state, fields) if "features" in fields else replace(state, **fields)


def _with_release(state: State, fields: dict[str, Any]) -> State:
    """Return a state with new features, by whose release its ACLs match networks or do not."""
    acls: Snapshot = fields.get("acls", state.acls)
    enabled = has_networks(metadata_level(fields["features"]))
    fields["acls"] = acls.with_network_matching(enabled=enabled)
    return replace(state, **fields)


def apply_at_once(state: State, change: Change, revision: int | None = None) -> State:
    """Return the state after a change, without slices."""
    applied = apply(state, change, revision)
    return applied if isinstance(applied, State) else run_to_end(applied)


# --- the state that rows make

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
        snapshot = load(takewhile(lambda _: not is_closing(), rows))
    if snapshot.count >= FREEZE_FROM:
        gc.freeze()
    return snapshot


def with_acls(state: State, acls: Snapshot) -> State:
    """Return the state with its ACLs, under the rules of its features."""
    enabled = state.acls.matches_networks
    return replace(state, acls=acls.with_network_matching(enabled=enabled))
