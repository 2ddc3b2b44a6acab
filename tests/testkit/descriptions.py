"""Bodies of DescribeAcls responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AclBinding, ResourcePattern


def answer(bindings: Iterable[AclBinding], version: int = 3) -> bytes:
    """Return the body of a response that describes ACLs in this order."""
    rows: dict[ResourcePattern, list[AclDescription]] = {}
    for pattern, entry in bindings:
        rows.setdefault(pattern, []).append(
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=int(entry.operation),
                permission_type=int(entry.permission_type),
            )
        )
    resources = tuple(
        DescribeAclsResource(
            resource_type=int(pattern.resource_type),
            resource_name=pattern.name,
            pattern_type=int(pattern.pattern_type),
            acls=tuple(acls),
        )
        for pattern, acls in rows.items()
    )
    return DescribeAclsResponse(resources=resources).encode(version)
