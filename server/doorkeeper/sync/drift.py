"""The difference between the ACLs of a cluster and the desired ones, within a scope."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import binding_text
from doorkeeper.acls.model import (
    ANY_BINDING,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.acls.search import find
from doorkeeper.server.schema.declared import ACL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.schema.change import Committed
    from doorkeeper.server.state.state import State

    Bindings = frozenset[AclBinding]

NO_BINDINGS: Final[Bindings] = frozenset()

# A cluster behind a canary that is down for days: its set is then made from the whole state.
_CHANGES_MAX: Final = 10_000


class AclDrift(Struct, frozen=True):
    """Bindings that a cluster lacks, has too many, and has outside of the scope."""

    missing: Bindings = NO_BINDINGS
    extra: Bindings = NO_BINDINGS
    outside: Bindings = NO_BINDINGS

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    def __str__(self) -> str:
        return f"{len(self.missing)} ACLs are missing, {len(self.extra)} are to be removed"

    @property
    def parts(self) -> Bindings:
        return self.missing | self.extra

    def has(self, binding: AclBinding, desired: AbstractSet[AclBinding]) -> bool:
        """Return whether the cluster has a binding of the scope."""
        return binding in self.extra or (binding in desired and binding not in self.missing)

    def present(self, desired: AbstractSet[AclBinding]) -> Bindings:
        """Return all bindings of the scope that the cluster has: 10 ms for 100,000."""
        return frozenset((desired - self.missing) | self.extra)

    def after_goal(self, goal: DesiredChange) -> AclDrift:
        """Return the drift of the same cluster from the set that is desired after a change."""
        return replace(
            self,
            missing=(self.missing - goal.removed) | (goal.added - self.extra),
            extra=(self.extra - goal.added) | (goal.removed - self.missing),
        )

    def after(
        self, presence: Mapping[AclBinding, bool], desired: AbstractSet[AclBinding]
    ) -> AclDrift:
        """Return the drift of a cluster that has (True), or has not, some bindings of the scope."""
        absent = frozenset(binding for binding, is_there in presence.items() if not is_there)
        return replace(
            self,
            missing=self.missing.difference(presence) | (absent & desired),
            extra=self.extra.difference(presence) | (presence.keys() - absent - desired),
        )

    def after_others(self, changes: Mapping[AclBinding, bool]) -> AclDrift:
        """Return the drift after bindings outside of the scope were added (True) or removed."""
        added = {binding for binding, is_there in changes.items() if is_there}
        return replace(self, outside=(self.outside - changes.keys()) | added)


class DesiredChange(Struct, frozen=True):
    """Bindings that became desired, and those that are no longer."""

    added: Bindings
    removed: Bindings

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


NO_DRIFT: Final = AclDrift()


def desired_bindings(acls: Snapshot, scope: SelectorUnion) -> Bindings:
    """Return the bindings that a cluster of this scope should have."""
    return frozenset(filter(scope.selects, find(acls, ANY_BINDING)))


def compare(
    desired: AbstractSet[AclBinding], present: AbstractSet[AclBinding], scope: SelectorUnion
) -> AclDrift:
    """Return the difference of the bindings of a cluster: 0.1 s for 100,000."""
    # One operation of sets would stop other threads for as long.
    others = frozenset(binding for binding in present if binding not in desired)
    missing = NO_BINDINGS
    if len(present) - len(others) < len(desired):
        missing = frozenset(binding for binding in desired if binding not in present)
    extra = frozenset(filter(scope.selects, others))
    return AclDrift(missing, extra, others - extra)


def common(drifts: Sequence[AclDrift]) -> AclDrift:
    """Return the drift that all brokers show: one broker alone may only lag behind."""
    return AclDrift(
        frozenset.intersection(*(drift.missing for drift in drifts)),
        frozenset.intersection(*(drift.extra for drift in drifts)),
        drifts[0].outside,
    )


class DesiredBindings:
    """The bindings that a cluster should have, which follow the changes of the state."""

    def __init__(self, scope: SelectorUnion) -> None:
        self._scope = scope
        self._revision: int | None = None
        self._unknown_until = 0
        self._changes: deque[Committed] = deque()
        self.state: State | None = None
        """The state whose bindings these are; None before the first one."""
        self.acl_revision = 0
        """The last change of ACLs in the bindings, also of such out of the scope."""
        self.bindings: set[AclBinding] = set()
        """Changed in place: a copy of 100,000 takes longer than most changes."""
        self.networks: set[AclBinding] = set()
        """Those whose host looks like a network."""

    def note(self, committed: Committed) -> None:
        """Take a change that a later target contains."""
        self._changes.append(committed)
        # After a reload of everything the changes are not known; many wait behind a canary.
        if not committed.change or len(self._changes) > _CHANGES_MAX:
            self._changes.clear()
            self._revision, self._unknown_until = None, committed.revision

    async def follow(self, state: State) -> DesiredChange:
        """Make the bindings those of a state not older than the last one; return the change."""
        is_followed = self._revision is not None
        self.state = state
        self._revision = state.revision if state.revision >= self._unknown_until else None
        if is_followed:
            change = self._change_until(state.revision)
        else:
            # A hundred thousand ACLs take half a second.
            change = await asyncio.to_thread(self._change_to, state)
        while self._changes and self._changes[0].revision <= state.revision:
            self.acl_revision = self._changes.popleft().revision
        self.bindings |= change.added
        self.bindings -= change.removed
        self.networks |= {binding for binding in change.added if "/" in binding.entry.host}
        self.networks -= change.removed
        return change

    def _change_to(self, state: State) -> DesiredChange:
        desired = desired_bindings(state.acls, self._scope)
        return DesiredChange(desired - self.bindings, frozenset(self.bindings - desired))

    def _change_until(self, revision: int) -> DesiredChange:
        """Return the sum of the changes up to a revision."""
        added: set[AclBinding] = set()
        removed: set[AclBinding] = set()
        for committed in self._changes:
            if committed.revision > revision:
                break
            edit = committed.change[ACL]
            gone = {row.binding for row in edit.deleted}
            new = {row.binding for row in edit.set if self._scope.selects(row.binding)}
            added, removed = (added - gone) | new, (removed | gone) - new
        return DesiredChange(frozenset(added - self.bindings), frozenset(removed & self.bindings))


class DriftRecord:
    """The present drift of a cluster, and since when each binding is a part of it."""

    def __init__(self) -> None:
        self.drift = NO_DRIFT
        self.since_ms: Mapping[AclBinding, int] = {}
        self._reported = NO_BINDINGS

    def update(self, drift: AclDrift, news: Bindings, now_ms: int) -> Bindings | None:
        """Take a drift; return the part of ``news`` to be reported; None for an agreement again."""
        before, self.drift, reported = self.drift, drift, self._reported
        since_ms, parts = self.since_ms, drift.parts
        self.since_ms = {binding: since_ms.get(binding, now_ms) for binding in parts}
        new = news - reported
        self._reported = (reported | new) & parts
        return None if before and not drift and reported else new

    @property
    def oldest_ms(self) -> int | None:
        """Return since when there is a drift; None without one."""
        return min(self.since_ms.values(), default=None)


def known_bindings(bindings: Iterable[AclBinding]) -> Iterator[AclBinding]:
    """Yield the bindings without UNKNOWN codes: no desired set can have the others."""
    for binding in bindings:
        (resource_type, _, pattern_type), (_, _, operation, permission_type) = binding
        if (
            resource_type is not ResourceType.UNKNOWN
            and pattern_type is not PatternType.UNKNOWN
            and operation is not AclOperation.UNKNOWN
            and permission_type is not AclPermissionType.UNKNOWN
        ):
            yield binding


def ignored_text(ignored: Bindings) -> str:
    """Return why a cluster does not enforce ACLs that its release does not honour."""
    return (
        f"{len(ignored)} ACLs have a network as host, which the release of the cluster compares as"
        f" text (Kafka before 4.4), for example {binding_text(min(ignored))}"
    )
