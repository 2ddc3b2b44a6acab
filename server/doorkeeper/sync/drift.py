"""The difference between the ACLs of a cluster and the desired ones, within a scope."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import binding_text
from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.acls.search import find
from doorkeeper.acls.snapshot import touched_since

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding, ResourcePattern
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.state.state import State

    Bindings = frozenset[AclBinding]
    Group = Mapping[AclBinding, str]

P = ParamSpec("P")
T = TypeVar("T")

NO_BINDINGS: Final[Bindings] = frozenset()

# A change of thread takes as long as some hundreds of ACLs, much longer on a busy machine.
_SLICE: Final = 2_000
"""The work of so many ACLs, some milliseconds, is left to the event loop's thread."""


async def call_sized(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function whose work is that of so many ACLs; in a thread where that takes long."""
    if size < _SLICE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


class AclDrift(Struct, frozen=True):
    """Bindings that a cluster lacks, has too many, and has outside of the scope."""

    missing: Bindings = NO_BINDINGS
    extra: Bindings = NO_BINDINGS
    outside: Bindings = NO_BINDINGS

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    def __str__(self) -> str:
        return f"{len(self.missing)} ACLs are missing, {len(self.extra)} must be removed"

    @property
    def parts(self) -> Bindings:
        return self.missing | self.extra

    def has(self, binding: AclBinding, desired: AbstractSet[AclBinding]) -> bool:
        """Return whether the cluster has a binding of the scope."""
        return binding in self.extra or (binding in desired and binding not in self.missing)

    def present(self, desired: AbstractSet[AclBinding]) -> Bindings:
        """Return all bindings of the scope that the cluster has: 10 ms for 100,000."""
        return frozenset((desired - self.missing) | self.extra)

    def after_goal(self, goal: AclDrift) -> AclDrift:
        """Return the drift of the same cluster from desired bindings that changed so."""
        part = AclDrift(goal.missing - self.extra, goal.extra - self.missing)
        return self.after(goal.parts, part)

    def after(self, seen: Bindings, part: AclDrift) -> AclDrift:
        """Return the drift where another look at some bindings of the scope found a part of it."""
        return replace(
            self,
            missing=(self.missing - seen) | part.missing,
            extra=(self.extra - seen) | part.extra,
        )


NO_DRIFT: Final = AclDrift()


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


class DesiredBindings:
    """The bindings of one state that a cluster should have."""

    def __init__(self, scope: SelectorUnion) -> None:
        self._scope = scope
        self.state: State | None = None
        """The state whose bindings these are; None before the first one."""
        self.bindings: set[AclBinding] = set()
        """Changed in place: a copy of 100,000 takes longer than most changes."""
        self.networks: set[AclBinding] = set()
        """Those whose host looks like a network."""

    async def follow(self, state: State) -> AclDrift:
        """Make the bindings those of another state; return how those before differ from them."""
        before, now = self.state, state.acls
        patterns = None if before is None else touched_since(before.acls.steps[-1], now.steps)
        if before is None or patterns is None:
            # A hundred thousand ACLs take half a second.
            change = await asyncio.to_thread(self._change_to, now)
        else:
            groups = [
                (_group(before.acls, pattern), _group(now, pattern)) for pattern in set(patterns)
            ]
            size = sum(len(old) + len(new) for old, new in groups)
            change = await call_sized(size, self._change_in, groups)
        self.state = state
        self.bindings |= change.missing
        self.bindings -= change.extra
        self.networks |= {binding for binding in change.missing if "/" in binding.entry.host}
        self.networks -= change.extra
        return change

    def _change_to(self, acls: Snapshot) -> AclDrift:
        desired = frozenset(filter(self._scope.selects, find(acls, ANY_BINDING)))
        return compare(desired, self.bindings, self._scope)

    def _change_in(self, groups: Sequence[tuple[Group, Group]]) -> AclDrift:
        """Return the change of some patterns, of each of which there are the old and new ACLs."""
        new = (binding for old, new in groups for binding in new if binding not in old)
        gone = (binding for old, new in groups for binding in old if binding not in new)
        selects = self._scope.selects
        return AclDrift(frozenset(filter(selects, new)), frozenset(filter(selects, gone)))


def _group(acls: Snapshot, pattern: ResourcePattern) -> Group:
    patterns = acls.types[pattern.resource_type].patterns
    return patterns.get(pattern.name, pattern.pattern_type) or {}


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


def ignored_text(ignored: Bindings) -> str:
    """Return why a cluster does not enforce ACLs that its release does not honour."""
    return (
        f"{len(ignored)} ACLs have a network as host, which the release of the cluster compares as"
        f" text (Kafka before 4.4), for example {binding_text(min(ignored))}"
    )
