"""The difference between the ACLs of a cluster and the desired ones, within a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.acl.search import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.plan import SelectorUnion
    from doorkeeper.acl.snapshot import Snapshot

    Bindings = frozenset[AclBinding]


class AclDrift(NamedTuple):
    """Bindings that a cluster lacks or has too many; ``outside`` counts those out of the scope."""

    missing: Bindings
    extra: Bindings
    outside: int

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


NO_DRIFT: Final = AclDrift(frozenset(), frozenset(), 0)


def desired_bindings(acls: Snapshot, scope: SelectorUnion) -> Bindings:
    """Return the bindings that a cluster of this scope should have."""
    return frozenset(filter(scope.selects, find(acls, ANY_BINDING)))


def compare(desired: Bindings, present: Bindings, scope: SelectorUnion) -> AclDrift:
    """Return the difference of the bindings of a cluster."""
    others = present - desired
    extra = frozenset(filter(scope.selects, others))
    return AclDrift(desired - present, extra, len(others) - len(extra))


def common(drifts: Sequence[AclDrift]) -> AclDrift:
    """Return the drift that all brokers show: one broker alone may only lag behind."""
    return AclDrift(
        frozenset.intersection(*(each.missing for each in drifts)),
        frozenset.intersection(*(each.extra for each in drifts)),
        drifts[0].outside,
    )


class DriftRecord:
    """The present drift of a cluster, and since when each binding is a part of it."""

    def __init__(self) -> None:
        self.drift = NO_DRIFT
        self.since_ms: Mapping[AclBinding, int] = {}
        self.reported: Bindings = frozenset()
        """The part of the drift that operators were told of."""

    def update(self, drift: AclDrift, now_ms: int) -> None:
        known = self.since_ms
        self.since_ms = {each: known.get(each, now_ms) for each in _parts(drift)}
        self.drift = drift

    @property
    def oldest_ms(self) -> int | None:
        """Return since when there is a drift; None without one."""
        return min(self.since_ms.values(), default=None)


def binding_text(binding: AclBinding) -> str:
    """Return a binding in a few words."""
    (resource_type, name, pattern_type), entry = binding
    return (
        f"{entry.permission_type.name} {entry.operation.name} on {pattern_type.name}"
        f" {resource_type.name} {name!r} for {entry.principal} from {entry.host}"
    )


def _parts(drift: AclDrift) -> Iterable[AclBinding]:
    yield from drift.missing
    yield from drift.extra
