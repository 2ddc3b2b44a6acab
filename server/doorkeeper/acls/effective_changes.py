"""The decisions that differ between two states of ACLs, as regions.

Only questions that a changed binding covers can have another decision. For each principal the names
of its changed patterns are divided into classes (``partition``), the engine decides about one name
and one client of each class before and after, and classes with the same change are joined. So the
regions are exact: a question is in a region if, and only if, its decision changes.

A principal has regions of its own on names that ACLs of its own cover, before or after. On all
other names ACLs decide on it as on any principal that no ACL names: those regions have ``User:*``,
and super users are in none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

from doorkeeper.acls.access import unnamed_principal
from doorkeeper.acls.cases import hosts_about
from doorkeeper.acls.decision import Question, permissions_mask
from doorkeeper.acls.host_sets import host_classes
from doorkeeper.acls.model import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS, operations_of
from doorkeeper.acls.partition import (
    Extents,
    collapse,
    extent_of,
    name_classes,
    outermost,
)
from doorkeeper.acls.regions import ALL_NAMES, CLUSTER, WILD, Extent, common_names, single
from doorkeeper.base.garbage_collection import collection_paused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.host_sets import HostClass
    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.model import PatternType
    from doorkeeper.acls.partition import NameClass
    from doorkeeper.acls.snapshot import Snapshot

V = TypeVar("V")

_STARS, _STAR = Extent(WILDCARD), single(WILDCARD)


class DecisionState(NamedTuple):
    """ACLs, with the policy that decides besides them."""

    policy: Policy
    snapshot: Snapshot


class ComparisonScope(Struct, frozen=True):
    """The questions that are compared: all, or those about some names and clients.

    ``principals`` None is all of them, and ``operation`` None all operations.
    """

    resource_types: tuple[ResourceType, ...] = tuple(SUPPORTED_OPERATIONS)
    names: Extent = ALL_NAMES
    host: str = WILDCARD
    principals: frozenset[str] | None = None
    operation: AclOperation | None = None


EVERYTHING = ComparisonScope()


class EffectiveChange(Struct, frozen=True):
    """Questions of which each has another decision: all operations for all the names and hosts.

    The names are those of ``names`` that are in none of ``other_names``, and so are the hosts.
    ``example`` is one of the questions, about the first operation.
    """

    principal: str
    resource_type: ResourceType
    names: Extent
    other_names: tuple[Extent, ...]
    host: str
    other_hosts: tuple[str, ...]
    operations: tuple[AclOperation, ...]
    allowed: bool
    example: Question


class _HostChange(Struct, frozen=True):
    """The operations of a class of names that are gained or lost, for the clients of some hosts."""

    host: str
    other_hosts: tuple[str, ...]
    operations: int
    allowed: bool


def effective_changes(
    before: DecisionState, after: DecisionState, scope: ComparisonScope = EVERYTHING
) -> list[EffectiveChange]:
    """Return the regions, sorted by principal, resource type and names; ``User:*`` first."""
    # As of ``cases``: what is found stays.
    with collection_paused():
        changes = [
            change
            for kind in scope.resource_types
            for change in _Comparison(before, after, scope, kind).changes()
        ]
    return sorted(changes, key=_sort_key)


def new_access(before: DecisionState, after: DecisionState) -> list[EffectiveChange]:
    """Return the regions that the second state allows and the first one does not."""
    return [change for change in effective_changes(before, after) if change.allowed]


def _sort_key(change: EffectiveChange) -> tuple[Any, ...]:
    is_named = change.principal != WILDCARD_PRINCIPAL
    names, operations = change.names[:2], change.operations
    return is_named, change.principal, change.resource_type, names, not change.allowed, operations


class _Comparison:
    """The two states, for one resource type."""

    def __init__(
        self,
        before: DecisionState,
        after: DecisionState,
        scope: ComparisonScope,
        kind: ResourceType,
    ) -> None:
        self._sides = (before, after)
        self._scope = scope
        self._kind = kind
        self._operations = -1 if scope.operation is None else 1 << scope.operation
        # The cluster has a single name.
        all_names = CLUSTER if kind is ResourceType.CLUSTER else ALL_NAMES
        self._names = common_names(scope.names, all_names)
        indexes = [side.snapshot.types[kind] for side in self._sides]
        self._principals = [index.principals for index in indexes]
        matches = [side.snapshot.matches_networks for side in self._sides]
        self._networks, self._rules_differ = any(matches), matches[0] is not matches[1]
        # All principals depend on the ACLs of User:*, and on the existence of any with
        # allow.everyone.if.no.acl.found.
        everyones = self._tables(WILDCARD_PRINCIPAL)
        common = _patterns(everyones[0]) | _patterns(everyones[1])
        changed = self._changes_on(everyones)
        opens = [side.policy.allow_everyone for side in self._sides]
        if any(opens):
            before_, after_ = (_patterns(index.patterns) for index in indexes)
            common |= before_ | after_
            changed |= {extent_of(*pattern) for pattern in before_ ^ after_}
        if opens[0] is not opens[1]:
            changed.add(ALL_NAMES)
        self._common = Extents(extent_of(*pattern) for pattern in common)
        self._common_changed = outermost(self._in_scope(changed))
        self._common_changes = Extents(self._common_changed)
        self._common_hosts = depend_on_hosts(everyones)
        self._classes_of: dict[frozenset[str], list[HostClass]] = {}
        self._changes: dict[tuple[int, object], tuple[_HostChange, ...]] = {}
        """The changes by the classes of hosts, which stay, and by their differences."""

    def changes(self) -> Iterator[EffectiveChange]:
        """Yield the regions, in no order."""
        if self._names is None:
            return
        supers = [side.policy.super_users for side in self._sides]
        named = set(self._principals[0]) | set(self._principals[1])
        one_super = supers[0] ^ supers[1]
        principals = self._scope.principals
        asked = named | one_super if principals is None else principals
        if principals is None or WILDCARD_PRINCIPAL in principals:
            other = unnamed_principal(named | supers[0] | supers[1])
            yield from self._of(other, self._common_changed, (None, None), WILDCARD_PRINCIPAL)
            asked = asked | named | one_super
        for principal in asked - {WILDCARD_PRINCIPAL} - (supers[0] & supers[1]):
            own = self._tables(principal)
            if principal in one_super:
                # Its decisions differ on names that no ACL covers, too.
                scopes = [self._names]
            elif principals is not None and principal in principals:
                scopes = outermost([*self._in_scope(self._changes_on(own)), *self._common_changed])
            else:
                scopes = self._own_scopes(own)
            yield from self._of(principal, scopes, own, principal)

    def _tables(self, principal: str) -> list[Names[Cell] | None]:
        return [principals.get(principal) for principals in self._principals]

    def _in_scope(self, extents: Iterable[Extent]) -> list[Extent]:
        if self._names is None:
            return []
        common = (common_names(extent, self._names) for extent in extents)
        return [extent for extent in common if extent is not None]

    def _changes_on(self, tables: Sequence[Names[Cell] | None]) -> set[Extent]:
        """Return the extents of the patterns on which a principal has other entries afterwards."""
        # Compared in C; only where they differ, pattern by pattern.
        if not self._rules_differ and tables[0] == tables[1]:
            return set()
        before, after = (
            {} if table is None else {(name, how): cell for name, how, cell in table.patterns()}
            for table in tables
        )
        return {
            extent_of(*pattern)
            for pattern in before.keys() | after.keys()
            if before.get(pattern) != after.get(pattern)
            or (self._rules_differ and not isinstance(before[pattern], int))
        }

    def _own_scopes(self, own: Sequence[Names[Cell] | None]) -> list[Extent]:
        """Return the names that a principal has ACLs on, where decisions may change."""
        changed = self._changes_on(own)
        if self._common_changed:
            patterns = _patterns(own[0]) | _patterns(own[1])
            for extent in outermost(extent_of(*pattern) for pattern in patterns):
                if self._common_changes.has_around(extent):
                    changed.add(extent)
                else:
                    changed.update(self._common_changes.within(extent))
        return outermost(self._in_scope(changed))

    def _of(
        self,
        principal: str,
        scopes: Sequence[Extent],
        own: Sequence[Names[Cell] | None],
        shown: str,
    ) -> Iterator[EffectiveChange]:
        """Yield the changes for a principal on the names of some scopes."""
        if not scopes:
            return
        mine = Extents(extent_of(*pattern) for table in own for pattern in _patterns(table))
        extents = [extent for scope in scopes for extent in mine.within(scope)]
        if self._common:
            extents += (extent for scope in scopes for extent in self._common.within(scope))
        classes = name_classes(scopes, extents)
        has_hosts = self._common_hosts or depend_on_hosts(own)
        values = [
            self._change(principal, name_class.example, has_hosts=has_hosts)
            for name_class in classes
        ]
        for head, names, others, value in _unions(classes, values):
            name = classes[head].example
            for change in value:
                client = self._client(principal, name, change.host, has_hosts=has_hosts)
                operations = operations_of(self._kind, change.operations)
                yield EffectiveChange(
                    shown,
                    self._kind,
                    names,
                    others,
                    change.host,
                    change.other_hosts,
                    operations,
                    change.allowed,
                    Question(principal, client, operations[0], self._kind, name),
                )

    def _change(self, principal: str, name: str, *, has_hosts: bool) -> tuple[_HostChange, ...]:
        classes = self._host_classes(principal, name, has_hosts=has_hosts)
        clients = [host_class.client for host_class in classes]
        differences = tuple(
            [
                None if client is None else self._difference(principal, client, name)
                for client in clients
            ]
        )
        # Of thousands of names most have ACLs for the same few hosts, and one of a few changes.
        key = id(classes), differences
        changes = self._changes.get(key)
        if changes is None:
            changes = self._changes[key] = _host_changes(classes, differences)
        return changes

    def _difference(self, principal: str, client: str, name: str) -> tuple[int, int]:
        """Return the operations that are gained, and those that are lost."""
        before, after = (
            permissions_mask(policy, snapshot, principal, client, self._kind, name)
            for policy, snapshot in self._sides
        )
        return after & ~before & self._operations, before & ~after & self._operations

    def _host_classes(self, principal: str, name: str, *, has_hosts: bool) -> list[HostClass]:
        """Return the classes of the clients that decisions on a name may depend on."""
        hosts: frozenset[str] = frozenset()
        if has_hosts:
            both = (principal, WILDCARD_PRINCIPAL)
            hosts = hosts.union(
                *(hosts_about(side.snapshot, self._kind, name, both) for side in self._sides)
            )
        classes = self._classes_of.get(hosts)
        if classes is None:
            classes = host_classes(hosts, networks=self._networks, within=self._scope.host)
            self._classes_of[hosts] = classes
        return classes

    def _client(self, principal: str, name: str, host: str, *, has_hosts: bool) -> str:
        classes = self._host_classes(principal, name, has_hosts=has_hosts)
        return next(
            host_class.client
            for host_class in classes
            if host_class.host == host and host_class.client
        )


def _host_changes(
    classes: Sequence[HostClass], values: Sequence[tuple[int, int] | None]
) -> tuple[_HostChange, ...]:
    """Return the hosts with a change; equal for names with the same decisions from all hosts."""
    return tuple(
        _HostChange(
            classes[union.head].host,
            tuple(classes[exception].host for exception in union.exceptions),
            operations,
            allowed,
        )
        for union, (gained, lost) in collapse([host_class.parent for host_class in classes], values)
        for operations, allowed in ((gained, True), (lost, False))
        if operations
    )


def _patterns(table: Names[Any] | None) -> set[tuple[str, PatternType]]:
    return set() if table is None else {(name, how) for name, how, _ in table.patterns()}


def depend_on_hosts(tables: Iterable[Names[Cell] | None]) -> bool:
    """Say whether an ACL among these is not for all hosts."""
    return any(
        not isinstance(cell, int)
        for table in tables
        if table is not None
        for _, _, cell in table.patterns()
    )


def _unions(
    classes: Sequence[NameClass], values: Sequence[V]
) -> Iterator[tuple[int, Extent, tuple[Extent, ...], V]]:
    """Yield the head, the names, those in them that are left out, and the value of each union.

    A union of all names but longer ones that begin with an asterisk is shown as the literal ``*``.
    """
    unions = collapse([name_class.parent for name_class in classes], values)
    heads = {classes[union.head].extent: union.head for union, _ in unions}
    value_by_head = {union.head: value for union, value in unions}
    everything, stars, star = (heads.get(extent) for extent in (ALL_NAMES, _STARS, _STAR))
    is_wild = (
        everything is not None
        and stars is not None
        and star is not None
        and value_by_head[star] == value_by_head[everything]
        and value_by_head[stars] != value_by_head[everything]
    )
    for union, value in unions:
        names: Extent = classes[union.head].extent
        others = [classes[exception].extent for exception in union.exceptions]
        if is_wild and union.head == star:
            continue
        if is_wild and union.head == everything:
            names = WILD
            others.remove(_STARS)
        yield union.head, names, tuple(others), value
