"""Kafka's rules as formulas of the SMT solver Z3, which judges answers about all names and clients.

Written from StandardAuthorizerData (4.3.1, 4.4.0) and KIP-1276, without the engine: a pattern is a
condition on a string, a host one on a number of 32 bits. ``is_other`` is a client outside IPv4,
which no host of the worlds but ``*`` matches.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

import z3  # type: ignore[import-untyped]

from doorkeeper.acls.model import AclOperation, AclPermissionType, PatternType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.regions import Extent

NAME = z3.String("name")
ADDRESS = z3.BitVec("address", 32)
IS_OTHER = z3.Bool("is_other")

_DESCRIBED_BY = {
    *(AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE),
    *(AclOperation.DELETE, AclOperation.ALTER),
}


def is_possible(*conditions: Any) -> bool:
    """Say whether some name and client meet all conditions."""
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(z3.Length(NAME) > 0, *conditions)
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return bool(found == z3.sat)


def allowed(
    policy: Policy,
    world: Sequence[AclBinding],
    principal: str,
    operation: AclOperation,
    *,
    networks: bool,
) -> Any:
    """Return the condition under which the principal may perform the operation on a name."""
    if principal in policy.super_users:
        return z3.BoolVal(True)
    allows, denies = [], []
    for binding in world:
        if binding.entry.principal not in (principal, "User:*"):
            continue
        matches = z3.And(covers(binding), has_client(binding.entry.host, networks=networks))
        if binding.entry.permission_type is AclPermissionType.DENY:
            if binding.entry.operation in (operation, AclOperation.ALL):
                denies.append(matches)
        elif _includes(binding.entry.operation, operation):
            allows.append(matches)
    is_open = z3.BoolVal(False)
    if policy.allow_everyone:
        is_open = z3.Not(z3.Or(*map(covers, world)))
    return z3.And(z3.Not(z3.Or(*denies)), z3.Or(*allows, is_open))


def in_extent(extent: Extent) -> Any:
    """Return the condition that an extent has the name."""
    text = z3.StringVal(extent.text)
    return text == NAME if extent.is_single else z3.PrefixOf(text, NAME)


def in_change(change: EffectiveChange) -> Any:
    """Return the condition that a region has the name and the client."""
    names = change.names
    is_named = _wildcard() if names.is_wild else in_extent(names)
    return z3.And(
        is_named,
        *(z3.Not(in_extent(each)) for each in change.other_names),
        has_client(change.host, networks=True),
        *(z3.Not(has_client(each, networks=True)) for each in change.other_hosts),
    )


def has_client(host: str, *, networks: bool) -> Any:
    """Return the condition that a client matches the host of an ACL."""
    if host == "*":
        return z3.BoolVal(True)
    if "/" not in host:
        return z3.And(z3.Not(IS_OTHER), int(IPv4Address(host)) == ADDRESS)
    if not networks:
        return z3.BoolVal(False)
    network = IPv4Network(host)
    first, mask = int(network.network_address), int(network.netmask)
    # No network matches 0.0.0.0.
    return z3.And(z3.Not(IS_OTHER), ADDRESS & mask == first, ADDRESS != 0)


def covers(binding: AclBinding) -> Any:
    name = z3.StringVal(binding.pattern.name)
    if binding.pattern.pattern_type is PatternType.PREFIXED:
        return z3.PrefixOf(name, NAME)
    return _wildcard() if binding.pattern.name == "*" else name == NAME


def _wildcard() -> Any:
    star = z3.StringVal("*")
    return z3.Or(star == NAME, z3.Not(z3.PrefixOf(star, NAME)))


def _includes(held: AclOperation, asked: AclOperation) -> bool:
    if held in (asked, AclOperation.ALL):
        return True
    return asked is AclOperation.DESCRIBE and held in _DESCRIBED_BY
