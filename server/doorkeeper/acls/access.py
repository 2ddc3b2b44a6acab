"""Lists principals that may perform an operation, and operations that a principal may perform.

Bindings name some principals and hosts; all others are equivalent. It is therefore enough to ask
the engine once for each name that occurs, and once for a name that does not.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.cases import clients_within, hosts_about
from doorkeeper.acls.decision import Question, allows, permissions_mask
from doorkeeper.acls.host_sets import host_classes
from doorkeeper.acls.model import (
    ANY_HOST,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS, denied_mask, operations_of
from doorkeeper.acls.partition import collapse, fresh_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.host_sets import HostClass
    from doorkeeper.acls.index import Names
    from doorkeeper.acls.partition import ClassUnion
    from doorkeeper.acls.snapshot import Snapshot

V = TypeVar("V")


class Access(Struct, frozen=True):
    """A principal that may perform an operation.

    ``principal`` is ``User:*`` for principals that no binding names. With ``everywhere`` the
    operation is allowed from a host that no binding names; ``hosts`` are those where it is allowed
    although not everywhere, ``not_from`` those where it is denied although allowed everywhere else.
    A network may have exceptions: ``10.0.0.0/8 except 10.3.0.0/16``. ``client`` is one of the
    addresses from which it is allowed, ``*`` with ``everywhere``.
    """

    principal: str
    everywhere: bool
    hosts: tuple[str, ...] = ()
    not_from: tuple[str, ...] = ()
    client: str = ANY_HOST


class Power(NamedTuple):
    """The operations that a principal may perform on the resources of a pattern.

    ``operations`` are those on a resource that the pattern covers and no narrower pattern does:
    narrower patterns have rows of their own. They are allowed from all hosts that were asked about,
    ``sometimes`` from some of them only; ``denied`` are those that a DENY refuses to some of them.
    """

    pattern: ResourcePattern
    operations: tuple[AclOperation, ...]
    sometimes: tuple[AclOperation, ...] = ()
    denied: tuple[AclOperation, ...] = ()


def who_can(
    policy: Policy,
    snapshot: Snapshot,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
) -> list[Access]:
    """Return the principals that may do this, sorted; ``User:*`` for all unnamed ones is first."""
    named = set(snapshot.types[resource_type].principals) | policy.super_users
    hosts_of_all = hosts_about(snapshot, resource_type, name, (WILDCARD_PRINCIPAL,))

    def access(principal: str, hosts: frozenset[str]) -> Access:
        classes = host_classes(hosts, networks=snapshot.matches_networks)
        # The clients that no binding names are asked about as such.
        clients = [ANY_HOST, *(host_class.client for host_class in classes[1:])]
        answers = [
            None
            if client is None
            else allows(
                policy, snapshot, Question(principal, client, operation, resource_type, name)
            )
            for client in clients
        ]
        everywhere = answers[0] is True
        parents = [host_class.parent for host_class in classes]
        differing = sorted(
            host_words(classes, union)
            for union, allowed in collapse(parents, answers)
            if allowed is not everywhere
        )
        if everywhere:
            return Access(principal, everywhere, not_from=tuple(differing))
        client = next((client for client, may in zip(clients, answers, strict=True) if may), None)
        return Access(principal, everywhere, hosts=tuple(differing), client=client or ANY_HOST)

    # One name that no ACL has stands for all others: ACLs decide on them alike.
    of_others = replace(
        access(unnamed_principal(named), hosts_of_all), principal=WILDCARD_PRINCIPAL
    )
    rows = [of_others]
    for principal in sorted(named - {WILDCARD_PRINCIPAL}):
        hosts = hosts_about(snapshot, resource_type, name, (principal,))
        if hosts or principal in policy.super_users:
            rows.append(access(principal, hosts | hosts_of_all))
        else:
            rows.append(replace(of_others, principal=principal))
    return [row for row in rows if row.everywhere or row.hosts]


def host_words(classes: Sequence[HostClass], union: ClassUnion) -> str:
    """Return the hosts of a union in words: ``10.0.0.0/8 except 10.3.0.0/16``."""
    host = classes[union.head].host
    exceptions = " and ".join(classes[exception].host for exception in union.exceptions)
    return f"{host} except {exceptions}" if exceptions else host


def what_can(
    policy: Policy,
    snapshot: Snapshot,
    principal: str,
    host: str = ANY_HOST,
    resource_type: ResourceType = ResourceType.ANY,
) -> list[Power]:
    """Return the allowed operations by pattern, sorted; patterns that allow nothing are included.

    There is a row for each pattern on which the principal or ``User:*`` has a binding, and one for
    the literal ``*`` if operations are allowed without any binding. ``host`` is an address, a
    network, or ``*`` for all hosts.
    """
    powers: list[Power] = []
    for kind in SUPPORTED_OPERATIONS:
        if resource_type not in (ResourceType.ANY, kind):
            continue
        powers += (
            _power(policy, snapshot, principal, host, pattern)
            for pattern in sorted(_patterns_about(policy, snapshot, principal, kind))
        )
    return powers


def _power(
    policy: Policy, snapshot: Snapshot, principal: str, host: str, pattern: ResourcePattern
) -> Power:
    kind, name = pattern.resource_type, probe(snapshot, pattern)
    clients: Sequence[str] = (host,)
    if host == ANY_HOST or "/" in host:
        hosts = hosts_about(snapshot, kind, name, (principal, WILDCARD_PRINCIPAL))
        within = clients_within(host, hosts, networks=snapshot.matches_networks)
        # As a client, ``*`` is one that no binding names.
        clients = (host, *within) if host == ANY_HOST else within
    masks = [
        permissions_mask(policy, snapshot, principal, client, kind, name) for client in clients
    ]
    always, some = reduce(and_, masks), reduce(or_, masks)
    denied = 0
    if principal not in policy.super_users:
        held = (snapshot.effective_mask(kind, name, principal, client) for client in clients)
        denied = reduce(or_, (denied_mask(kind, mask) for mask in held))
    return Power(
        pattern,
        operations_of(kind, always),
        operations_of(kind, some & ~always),
        operations_of(kind, denied),
    )


def unnamed_principal(named: Collection[str]) -> str:
    """Return a principal that no binding names."""
    name = "User:anyone"
    while name in named:
        name += "~"
    return name


def _patterns_about(
    policy: Policy, snapshot: Snapshot, principal: str, resource_type: ResourceType
) -> set[ResourcePattern]:
    index = snapshot.types[resource_type]
    patterns: set[ResourcePattern] = set()
    tables: list[Names[Any]] = [cells for _, cells in index.concerning(principal)]
    if policy.allow_everyone:
        # With this policy a binding of any principal ends the default access to its resources.
        tables.append(index.patterns)
    for table in tables:
        patterns.update(
            ResourcePattern(resource_type, name, pattern_type)
            for name, pattern_type, _ in table.patterns()
        )
    if policy.allow_everyone or principal in policy.super_users:
        patterns.add(ResourcePattern(resource_type, WILDCARD, PatternType.LITERAL))
    return patterns


def probe(snapshot: Snapshot, pattern: ResourcePattern) -> str:
    """Return a name that the pattern covers and no narrower pattern does."""
    resource_type, name, pattern_type = pattern
    if pattern_type is PatternType.LITERAL and name != WILDCARD:
        return name
    stem = "" if pattern_type is PatternType.LITERAL else name
    patterns = snapshot.types[resource_type].patterns

    def is_taken(probe: str) -> bool:
        prefixes = patterns.prefixes_of(probe)
        return probe in patterns.literals or any(len(prefix) > len(stem) for prefix, _ in prefixes)

    return fresh_name(stem, is_taken)
