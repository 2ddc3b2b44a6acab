"""Is an operation allowed on at least one resource of a type? KIP-679, through the index.

The contract's default algorithm reads all ACLs; here only what the two principals have is read.
The rules are the same, odd ones included: operations imply nothing here, a prefixed DENY dominates
what begins with it, a literal DENY dominates the literal of its name but never a prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.cases import clients_within
from doorkeeper.acls.index import mask_for, masks
from doorkeeper.acls.model import WILDCARD, AclOperation, PatternType, ResourceType
from doorkeeper.acls.operations import DENY_TESTS, EXACT_ALLOW_TESTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.snapshot import Snapshot


def allowed_on_some(
    snapshot: Snapshot,
    resource_type: ResourceType,
    operation: AclOperation,
    *,
    principal: str,
    host: str,
) -> bool:
    """Say whether some ALLOW of the two principals is not dominated by a DENY of theirs.

    Ends at the first such ALLOW; at worst it reads all that the two principals have.
    """
    hosts = snapshot.hosts_matching(host)
    both = [cells for _, cells in snapshot.types[resource_type].concerning(principal)]
    deny, allow = DENY_TESTS[operation], EXACT_ALLOW_TESTS[operation]
    # The literal "*" is first, as in ``authorizeByResourceType``: a DENY on it leaves no resource.
    wildcard = _literal_mask(both, WILDCARD, hosts)
    if wildcard & deny:
        return False
    if wildcard & allow:
        return True
    return any(
        mask_for(cell, hosts) & allow and not _dominated(both, name, pattern_type, hosts, deny)
        for cells in both
        for name, pattern_type, cell in cells.patterns()
    )


def may_write_some_topic(snapshot: Snapshot, principal: str, host: str) -> bool:
    """Say whether every client of a host, ``*`` or a network too, may write some topic.

    InitProducerId is allowed then, without IDEMPOTENT_WRITE on the cluster.
    Cost: O(patterns of the principal and of ``User:*``) for each class of the clients.

    Source: KIP-679; ``KafkaApis.handleInitProducerIdRequest``.
    """
    clients: Iterable[str] = (host,)
    if host == WILDCARD or "/" in host:
        clients = clients_of(snapshot, principal, (ResourceType.TOPIC,), within=host)
    answers = [
        allowed_on_some(
            snapshot, ResourceType.TOPIC, AclOperation.WRITE, principal=principal, host=client
        )
        for client in clients
    ]
    return bool(answers) and all(answers)


def clients_of(
    snapshot: Snapshot, principal: str, kinds: Iterable[ResourceType], within: str = WILDCARD
) -> tuple[str, ...]:
    """Return a client of each class of the clients of a host, for questions about some types."""
    hosts = {
        host
        for kind in kinds
        for _, cells in snapshot.types[kind].concerning(principal)
        for _, _, cell in cells.patterns()
        for host, _ in masks(cell)
    }
    return clients_within(within, frozenset(hosts), networks=snapshot.matches_networks)


def _dominated(
    both: list[Names[Cell]], name: str, pattern_type: PatternType, hosts: Collection[str], deny: int
) -> bool:
    if pattern_type is PatternType.LITERAL and _literal_mask(both, name, hosts) & deny:
        return True
    return any(
        mask_for(cell, hosts) & deny for cells in both for _, cell in cells.prefixes_of(name)
    )


def _literal_mask(both: list[Names[Cell]], name: str, hosts: Collection[str]) -> int:
    mask = 0
    for cells in both:
        mask |= mask_for(cells.literals.get(name, 0), hosts)
    return mask
