"""Finds principals that may read topics but no consumer group, host by host.

An ALLOW of READ on topics counts if the engine allows the principal to read a topic that it covers,
so not if a DENY overrides it, nor for a host that no client can have. READ on groups is decided by
the engine too, with grants to ``User:*``, DENYs and ``allow.everyone.if.no.acl.found``. A
name that no narrower pattern covers is tested for each pattern, see ``access.probes``: if the
pattern allows any name, it allows one of these.

    User:a may READ topic t from *        and group g from 10.0.0.1     fine: it consumes there
    User:a may READ topic t from *        and no group                  reported
    User:a may READ topic t from 10.0.0.1 and group g from 10.0.0.2     reported
"""

from __future__ import annotations

from heapq import merge
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from doorkeeper.acls.access import probes, unnamed_principal
from doorkeeper.acls.decision import Question, allows
from doorkeeper.acls.host_sets import clients_of, tree_of
from doorkeeper.acls.index import masks
from doorkeeper.acls.model import (
    ANY_HOST,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import ALLOW_TESTS, entry_bit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.snapshot import Snapshot

_READ = AclOperation.READ
_MAY_READ = ALLOW_TESTS[_READ]
_ALL_GROUPS = (
    ResourcePattern(ResourceType.GROUP, WILDCARD, PatternType.LITERAL),
    # The literal covers none of these, see ``names.wildcard_covers``.
    ResourcePattern(ResourceType.GROUP, WILDCARD, PatternType.PREFIXED),
)


class ReaderWithoutGroup(NamedTuple):
    """A principal that may read topics, but no group from the same hosts.

    ``binding`` is the first that allows READ on topics. ``elsewhere``: it may read groups, but only
    from hosts where it may read none of the topics.
    """

    principal: str
    binding: AclBinding
    elsewhere: bool


class _GroupAccess(Struct, frozen=True):
    """Patterns on which a principal may READ, and the hosts that they name."""

    patterns: tuple[ResourcePattern, ...] = ()
    hosts: frozenset[str] = frozenset()


def readers_without_group(
    policy: Policy, snapshot: Snapshot, bindings: Iterable[AclBinding]
) -> Iterator[ReaderWithoutGroup]:
    """Yield principals of these bindings, each once, in their order.

    ``User:*`` stands for a principal that no binding names. Super users need no ACL, and a
    principal without a colon cannot exist: both are skipped.
    """
    of_wildcard = _group_access(snapshot, WILDCARD_PRINCIPAL)
    named = policy.super_users.union(*(index.principals for index in snapshot.types))
    for principal, reading in _by_principal(bindings).items():
        asked = unnamed_principal(named) if principal == WILDCARD_PRINCIPAL else principal
        if asked in policy.super_users or ":" not in asked:
            continue
        own = _group_access(snapshot, asked)
        groups = (*own.patterns, *of_wildcard.patterns)
        if policy.allow_everyone:
            groups = (*_ALL_GROUPS, *groups)
        one = _ReadAccess(policy, snapshot, asked)
        named_hosts = {binding.entry.host for binding in reading} | own.hosts | of_wildcard.hosts
        tree = tree_of(named_hosts, networks=snapshot.matches_networks)
        hosts = (ANY_HOST, *sorted(clients_of(tree)))
        first = one.first_without_group(reading, groups, hosts)
        if first is not None:
            yield ReaderWithoutGroup(principal, *first)


class _ReadAccess(Struct, frozen=True):
    """A principal whose READ access is tested."""

    policy: Policy
    snapshot: Snapshot
    principal: str

    def first_without_group(
        self,
        reading: Iterable[AclBinding],
        groups: tuple[ResourcePattern, ...],
        hosts: Iterable[str],
    ) -> tuple[AclBinding, bool] | None:
        """Return the first binding that allows READ on topics; None if a group is readable."""
        first, elsewhere = None, False
        by_host: dict[str, list[AclBinding]] = {}
        for binding in reading:
            by_host.setdefault(binding.entry.host, []).append(binding)
        for host in hosts:
            by = self._first_reading(by_host, host)
            if any(self._may(pattern, host) for pattern in groups):
                if by is not None:
                    return None
                elsewhere = True
            elif by is not None:
                first = by if first is None else min(first, by)
        return None if first is None else (first, elsewhere)

    def _first_reading(
        self, by_host: Mapping[str, list[AclBinding]], host: str
    ) -> AclBinding | None:
        """Return the first binding that lets the principal read a topic from this host."""
        # Of many hosts of ACLs, a client matches a few.
        matching = merge(
            *(by_host.get(acl_host, ()) for acl_host in self.snapshot.hosts_matching(host))
        )
        # In order: the bindings of a pattern follow each other.
        for pattern, bindings in groupby(matching, key=attrgetter("pattern")):
            if self._may(pattern, host):
                return next(bindings)
        return None

    def _may(self, pattern: ResourcePattern, host: str) -> bool:
        return any(
            allows(
                self.policy,
                self.snapshot,
                Question(self.principal, host, _READ, pattern.resource_type, name),
            )
            for name in probes(self.snapshot, pattern)
        )


def _by_principal(bindings: Iterable[AclBinding]) -> dict[str, list[AclBinding]]:
    by_principal: dict[str, list[AclBinding]] = {}
    for binding in bindings:
        pattern, entry = binding
        if pattern.resource_type is not ResourceType.TOPIC:
            continue
        if entry_bit(entry.operation, entry.permission_type) & _MAY_READ:
            by_principal.setdefault(entry.principal, []).append(binding)
    return by_principal


def _group_access(snapshot: Snapshot, principal: str) -> _GroupAccess:
    """Return the patterns of groups on which a principal has READ."""
    cells: Names[Cell] | None = snapshot.types[ResourceType.GROUP].principals.get(principal)
    if cells is None:
        return _GroupAccess()
    hosts_by_pattern: dict[ResourcePattern, list[str]] = {}
    for name, pattern_type, cell in cells.patterns():
        hosts = [host for host, mask in masks(cell) if mask & _MAY_READ]
        if hosts:
            hosts_by_pattern[ResourcePattern(ResourceType.GROUP, name, pattern_type)] = hosts
    named = frozenset(chain.from_iterable(hosts_by_pattern.values()))
    return _GroupAccess(tuple(hosts_by_pattern), named)
