"""Prefixed ACLs that could stand for several literal ones: suggestions, since they allow more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from doorkeeper.acls.model import AclBinding, PatternType, ResourcePattern
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.recorded_access import RecordedAccess, prefixed_acls
from doorkeeper.cli.learning.internal_names import InternalNames


class Alternative(NamedTuple):
    """A prefixed ACL, the literal ones for which it stands, and why such names share a prefix."""

    binding: AclBinding
    instead_of: tuple[AclBinding, ...]
    reason: str


def alternatives(
    bindings: Collection[AclBinding], accesses: Iterable[RecordedAccess]
) -> list[Alternative]:
    """Return alternatives to the least ACLs of accesses, sorted.

    Names of Streams and Connect become a prefix even if there is one of them. Of other names at
    least three do, if they share a beginning up to a delimiter that no other principal uses.
    """
    names = InternalNames(bindings)
    found: dict[AclBinding, str] = {}
    for each in bindings:
        internal = names.find(each)
        if internal is not None and internal.prefix:
            found[_with_prefix(each, internal.prefix)] = internal.purpose
    # A prefix found both ways keeps the words about Streams or Connect, which say more.
    for each in prefixed_acls(accesses):
        found.setdefault(each, "names with this beginning")
    return [
        Alternative(each, instead_of, reason)
        for each, reason in sorted(found.items())
        if (instead_of := tuple(other for other in bindings if _covers(each, other)))
    ]


def _with_prefix(binding: AclBinding, prefix: str) -> AclBinding:
    resource_type = binding.pattern.resource_type
    return binding._replace(pattern=ResourcePattern(resource_type, prefix, PatternType.PREFIXED))


def _covers(wide: AclBinding, binding: AclBinding) -> bool:
    pattern, entry = binding
    return (
        pattern.resource_type is wide.pattern.resource_type
        and pattern.name.startswith(wide.pattern.name)
        and entry.principal == wide.entry.principal
        and satisfied_by(entry.operation, wide.entry.operation)
    )
