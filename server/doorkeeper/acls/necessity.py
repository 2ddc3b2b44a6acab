"""Finds bindings that can be removed without changing any decision, exactly.

An ALLOW is redundant if each of its operations is covered by another ALLOW, or by a DENY, for all
its questions. A DENY is redundant if other DENYs cover everything that ALLOWs grant within it. With
``allow.everyone.if.no.acl.found`` the mere existence of a binding matters: another one must cover
its pattern.

``removable`` tests the bindings one after the other, ALLOWs first, so that all results can be
removed together, and no remaining binding is redundant: removing an ALLOW makes no other ALLOW
redundant, but may leave a DENY without anything to deny. If existence matters, it repeats the pass
until nothing more is found.

Source: the decision rules of ``StandardAuthorizerData`` (4.3.1); ``regions`` explains why several
bindings never cover a region that none of them covers alone.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.host_sets import HostTable, cover_of
from doorkeeper.acls.index import mask_at
from doorkeeper.acls.model import (
    ANY_BINDING,
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import (
    ALLOW_TESTS,
    DENY_TESTS,
    SUPPORTED_OPERATIONS,
    effects,
    entries_of,
    entry_bit,
)
from doorkeeper.acls.regions import (
    Extent,
    Region,
    covering_cells,
    covering_patterns,
    is_asked_about,
    names_of,
    overlap,
    region_of,
)
from doorkeeper.acls.search import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.network_index import Networks
    from doorkeeper.acls.snapshot import Snapshot


class Cause(Enum):
    """The reason that a binding is redundant."""

    NO_EFFECT = "no request checks this operation on this resource type"
    SUPER_USER = "the principal is a super user, to whom ACLs do not apply"
    SHADOWED = "a DENY covers and overrides all of it"
    COVERED = "other ACLs cover all of it"
    NOTHING_TO_DENY = "no ACL allows what it denies"
    DEFAULT = "without it, everyone may do everything there"
    NO_RESOURCE = f"requests check the cluster as {CLUSTER_NAME}, which this pattern does not match"


class Removable(NamedTuple):
    """A redundant binding, the reason, and the bindings that make it redundant."""

    binding: AclBinding
    cause: Cause
    because: tuple[AclBinding, ...] = ()


def removable(
    policy: Policy,
    snapshot: Snapshot,
    stays: Callable[[AclBinding, Cause], bool] = lambda _binding, _cause: False,
) -> list[Removable]:
    """Return bindings that can be removed together, so that none of the others is redundant.

    A redundant binding may stay for its cause, and so do those that are redundant only because of
    it. The result is in the order of the fields. Cost: O(n log n) for sets without wide DENYs.
    """
    removed: dict[AclBinding, Removable] = {}
    order = sorted(find(snapshot, ANY_BINDING), key=_turn)
    spaces = {
        resource_type: _Space(snapshot, resource_type)
        for resource_type in {binding.pattern.resource_type for binding in order}
    }
    before = -1
    while before < len(removed):
        before = len(removed)
        for binding in order:
            space = spaces[binding.pattern.resource_type]
            verdict = _Judge(policy, snapshot, space, binding).verdict()
            if verdict is not None and not stays(binding, verdict.cause):
                removed[binding] = verdict
                snapshot = snapshot.without((binding,))
        if not policy.allow_everyone:
            break
        # The last binding on a resource may now equal the default.
        order = [binding for binding in order if binding not in removed]
    return [removed[binding] for binding in sorted(removed)]


def _turn(binding: AclBinding) -> tuple[bool, bool, bool]:
    """Return the sort key for testing: of two equivalent bindings the earlier is removed.

    A binding for ALL comes last, and of the patterns that cover the cluster the one that brokers
    create.
    """
    pattern, entry = binding
    is_cluster = pattern == (ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
    return binding.denies, entry.operation is AclOperation.ALL, is_cluster


class _Space:
    """One resource type: its names in order, and the ALLOWs of each pattern by principal and host.

    In order, names within a prefix are adjacent. Built once: what is about removed bindings
    remains, and lookups find nothing for them.
    """

    def __init__(self, snapshot: Snapshot, resource_type: ResourceType) -> None:
        self._patterns = snapshot.types[resource_type].patterns
        self._networks = networks_of(snapshot)
        self._literals = sorted(self._patterns.literals)
        self._prefixes = sorted(self._patterns.prefixes)
        self._allowing: dict[tuple[str, PatternType], dict[str, HostTable[AclBinding]]] = {}

    def allowing(
        self, name: str, pattern_type: PatternType, region: Region
    ) -> Iterator[AclBinding]:
        """Yield the ALLOWs on a pattern that share principals and hosts with a region."""
        tables = self._allowing.get((name, pattern_type))
        if tables is None:
            tables = self._allowing[name, pattern_type] = self._tables(name, pattern_type)
        principals: Iterable[str] = (region.principal, WILDCARD_PRINCIPAL)
        if region.principal == WILDCARD_PRINCIPAL:
            principals = tables
        for principal in principals:
            table = tables.get(principal)
            if table is not None:
                yield from table.overlapping(region.host)

    def _tables(self, name: str, pattern_type: PatternType) -> dict[str, HostTable[AclBinding]]:
        by_principal: dict[str, list[tuple[str, AclBinding]]] = {}
        for binding in self._patterns.get(name, pattern_type) or ():
            if not binding.denies:
                entry = binding.entry
                by_principal.setdefault(entry.principal, []).append((entry.host, binding))
        return {
            principal: HostTable(pairs, self._networks) for principal, pairs in by_principal.items()
        }

    def within(self, names: Extent) -> Iterator[tuple[str, PatternType]]:
        """Yield patterns whose names lie within a set; removed ones may be among them."""
        if names.is_single:
            return
        prefix = names.text
        for listed, pattern_type in (
            (self._literals, PatternType.LITERAL),
            (self._prefixes, PatternType.PREFIXED),
        ):
            # In sorted order the names that begin with a prefix are adjacent, and the prefix itself
            # is first.
            at = bisect_left(listed, prefix)
            while at < len(listed) and listed[at].startswith(prefix):
                yield listed[at], pattern_type
                at += 1


class _Judge:
    """Tests one binding against all others."""

    def __init__(
        self, policy: Policy, snapshot: Snapshot, space: _Space, binding: AclBinding
    ) -> None:
        self._policy = policy
        self._snapshot = snapshot
        self._space = space
        self._binding = binding
        self._region = region_of(binding)

    def verdict(self) -> Removable | None:
        """Return why the binding is redundant; None if it is needed."""
        if not is_asked_about(self._binding.pattern):
            return Removable(self._binding, Cause.NO_RESOURCE)
        if self._policy.allow_everyone and not self._is_still_covered():
            return self._default() if self._grants_everything() else None
        binding = self._binding
        if binding.entry.principal in self._policy.super_users:
            return Removable(binding, Cause.SUPER_USER)
        asked = effects(binding)
        if not asked:
            return Removable(binding, Cause.NO_EFFECT)
        return self._deny(asked) if binding.denies else self._allow(asked)

    def _allow(self, asked: Sequence[AclOperation]) -> Removable | None:
        because: dict[AclBinding, None] = {}
        shadowed = True
        for operation in asked:
            cover = self._find_cover(self._region, DENY_TESTS[operation])
            if not cover:
                shadowed = False
                cover = self._find_cover(self._region, ALLOW_TESTS[operation])
            if not cover:
                # Part of a network may be denied, and all the rest allowed by others.
                cover = self._find_cover(self._region, _either(operation))
            if not cover:
                return None
            because |= dict.fromkeys(cover)
        cause = Cause.SHADOWED if shadowed else Cause.COVERED
        return Removable(self._binding, cause, tuple(because))

    def _deny(self, asked: Sequence[AclOperation]) -> Removable | None:
        because: dict[AclBinding, None] = {}
        for operation in asked:
            cover = self._find_cover(self._region, DENY_TESTS[operation])
            if cover:
                because |= dict.fromkeys(cover)
                continue
            for region in self._allowed_regions(operation):
                cover = self._find_cover(region, DENY_TESTS[operation])
                if not cover:
                    return None
                because |= dict.fromkeys(cover)
        cause = Cause.COVERED if because else Cause.NOTHING_TO_DENY
        return Removable(self._binding, cause, tuple(because))

    def _default(self) -> Removable | None:
        """Test a grant of everything to ``User:*``, which may equal the default."""
        resource_type = self._region.resource_type
        for pattern in self._others_within():
            region = overlap(
                self._region,
                Region(resource_type, names_of(pattern), WILDCARD_PRINCIPAL, WILDCARD),
            )
            if region is None:
                continue
            for operation in SUPPORTED_OPERATIONS[resource_type]:
                if not self._find_cover(region, _either(operation)):
                    return None
        return Removable(self._binding, Cause.DEFAULT)

    def _others_within(self) -> Iterator[ResourcePattern]:
        """Yield the patterns of other bindings that share names with this one's."""
        patterns = self._snapshot.types[self._region.resource_type].patterns
        for name, pattern_type in self._patterns_about():
            group = patterns.get(name, pattern_type)
            if group is not None and any(binding != self._binding for binding in group):
                yield ResourcePattern(self._region.resource_type, name, pattern_type)

    def _is_still_covered(self) -> bool:
        """Return whether other bindings cover all names of this one's pattern."""
        own = self._binding.pattern
        patterns = self._snapshot.types[own.resource_type].patterns
        for name, pattern_type in covering_patterns(patterns, self._region.names):
            group = patterns.get(name, pattern_type) or ()
            is_own = (name, pattern_type) == (own.name, own.pattern_type)
            # The binding itself is in the group of its own pattern.
            if len(group) > is_own:
                return True
        return False

    def _grants_everything(self) -> bool:
        (resource_type, *_), entry = self._binding
        return (
            entry.permission_type is AclPermissionType.ALLOW
            and entry.principal == WILDCARD_PRINCIPAL
            and entry.host == WILDCARD
            and effects(self._binding) == SUPPORTED_OPERATIONS.get(resource_type)
        )

    def _find_cover(self, region: Region, test: int) -> tuple[AclBinding, ...]:
        """Return other bindings that decide all questions of a region, () without such.

        One binding, or several whose networks cover that of the region. ``test`` selects the bits
        of masks.
        """
        cells = list(covering_cells(self._snapshot, region))
        pattern, own = self._binding
        own_place = (pattern, own.principal, own.host)
        own_bit = entry_bit(own.operation, own.permission_type)

        def held(host: str) -> AclBinding | None:
            for cell_pattern, principal, cell in cells:
                bits = mask_at(cell, host) & test
                if bits and (cell_pattern, principal, host) == own_place:
                    bits &= ~own_bit
                if bits:
                    # The lowest bit: one binding is reason enough, although several may cover it.
                    [entry] = entries_of(bits & -bits)
                    return AclBinding(cell_pattern, AccessControlEntry(principal, host, *entry))
            return None

        cover = cover_of(region.host, networks_of(self._snapshot), held) if cells else None
        return () if cover is None else tuple(cover)

    def _allowed_regions(self, operation: AclOperation) -> Iterator[Region]:
        """Yield the regions within this DENY where a binding allows the operation."""
        test = ALLOW_TESTS[operation]
        networks = self._snapshot.matches_networks
        for name, pattern_type in self._patterns_about():
            for binding in self._space.allowing(name, pattern_type, self._region):
                entry = binding.entry
                if not entry_bit(entry.operation, entry.permission_type) & test:
                    continue
                region = overlap(self._region, region_of(binding), networks=networks)
                if region is None or region.principal in self._policy.super_users:
                    continue
                if binding in self._snapshot:
                    yield region

    def _patterns_about(self) -> Iterator[tuple[str, PatternType]]:
        """Yield the patterns that may share names with this binding's."""
        patterns = self._snapshot.types[self._region.resource_type].patterns
        yield from covering_patterns(patterns, self._region.names)
        yield from self._space.within(self._region.names)
        if self._region.names == Extent(WILDCARD):
            yield WILDCARD, PatternType.LITERAL


def _either(operation: AclOperation) -> int:
    return DENY_TESTS[operation] | ALLOW_TESTS[operation]


def networks_of(snapshot: Snapshot) -> Networks | None:
    """Return the networks of a snapshot; None where it compares hosts as texts."""
    return snapshot.networks if snapshot.matches_networks else None
