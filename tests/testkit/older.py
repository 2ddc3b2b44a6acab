"""A plug-in with the older interface of KIP-11, complete: ACLs in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.plugins import (
    IMPLIED_OPERATIONS,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    Session,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW


class OlderInMemory:
    """Decides by what it holds, as Kafka's authorizer of that time; super users from the keys."""

    def __init__(self) -> None:
        self.held: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        self.configs: Mapping[str, str] = {}
        self.asked: list[tuple[Session, AclOperation, ResourcePattern]] = []
        self.removed: list[tuple[frozenset[AccessControlEntry] | None, ResourcePattern]] = []
        self.listed: list[dict[str, Any]] = []
        self.closed = False

    def initialize(self, configs: Mapping[str, str]) -> None:
        self.configs = configs

    def authorize(
        self, session: Session, operation: AclOperation, resource: ResourcePattern
    ) -> bool:
        self.asked.append((session, operation, resource))
        if str(session.principal) in self.configs.get("super.users", "").split(";"):
            return True
        entries = [
            entry
            for pattern, entries in self.held.items()
            if covers(pattern, resource)
            for entry in entries
            if entry.principal in ("User:*", str(session.principal))
            and entry.host in ("*", session.client_address)
        ]
        enough = {operation, AclOperation.ALL}
        if any(each.permission_type is DENY and each.operation in enough for each in entries):
            return False
        enough |= {held for held, implied in IMPLIED_OPERATIONS.items() if operation in implied}
        return any(each.permission_type is ALLOW and each.operation in enough for each in entries)

    def add_acls(self, acls: frozenset[AccessControlEntry], resource: ResourcePattern) -> None:
        self.held[resource] = self.held.get(resource, frozenset()) | acls

    def remove_acls(
        self, acls: frozenset[AccessControlEntry] | None, resource: ResourcePattern
    ) -> bool:
        self.removed.append((acls, resource))
        before = self.held.pop(resource, frozenset())
        left = frozenset() if acls is None else before - acls
        if left:
            self.held[resource] = left
        return left != before

    def get_acls(
        self, resource: ResourcePattern | None = None, principal: Principal | None = None
    ) -> Any:
        self.listed.append(
            {k: v for k, v in (("resource", resource), ("principal", principal)) if v is not None}
        )
        if resource is not None:
            return self.held.get(resource, frozenset())
        if principal is None:
            return dict(self.held)
        own = {
            pattern: frozenset(each for each in entries if each.principal == str(principal))
            for pattern, entries in self.held.items()
        }
        return {pattern: entries for pattern, entries in own.items() if entries}

    def close(self) -> None:
        self.closed = True


def covers(pattern: ResourcePattern, resource: ResourcePattern) -> bool:
    """Say whether a pattern is about a resource."""
    if pattern.resource_type is not resource.resource_type:
        return False
    if pattern.pattern_type is PatternType.PREFIXED:
        return resource.name.startswith(pattern.name)
    return pattern.name in ("*", resource.name)
