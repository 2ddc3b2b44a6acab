"""Short ways to write ACLs, filters and requests down in a test.

allow("alice", READ, topic("orders"))    ALLOW READ for User:alice from everywhere
"""

from __future__ import annotations

from doorkeeper.acls.model import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.server.authorizer.contract import Action
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def topic(name: str, pattern_type: PatternType = LITERAL) -> ResourcePattern:
    """Return a pattern of topics."""
    return ResourcePattern(ResourceType.TOPIC, name, pattern_type)


def group(name: str, pattern_type: PatternType = LITERAL) -> ResourcePattern:
    """Return a pattern of groups."""
    return ResourcePattern(ResourceType.GROUP, name, pattern_type)


def cluster(name: str, pattern_type: PatternType = LITERAL) -> ResourcePattern:
    """Return a pattern of the cluster."""
    return ResourcePattern(ResourceType.CLUSTER, name, pattern_type)


def user(name: str) -> ResourcePattern:
    """Return the pattern of one user: its name is a whole principal."""
    return ResourcePattern(ResourceType.USER, name, LITERAL)


def token(token_id: str) -> ResourcePattern:
    """Return the pattern of one delegation token."""
    return ResourcePattern(ResourceType.DELEGATION_TOKEN, token_id, LITERAL)


def allow(
    user: str, operation: AclOperation, pattern: ResourcePattern, host: str = "*"
) -> AclBinding:
    """Return an ALLOW for a user; a text with a colon is a whole principal."""
    return AclBinding(
        pattern, AccessControlEntry(_principal(user), host, operation, AclPermissionType.ALLOW)
    )


def deny(
    user: str, operation: AclOperation, pattern: ResourcePattern, host: str = "*"
) -> AclBinding:
    """Return a DENY for a user; a text with a colon is a whole principal."""
    return AclBinding(
        pattern, AccessControlEntry(_principal(user), host, operation, AclPermissionType.DENY)
    )


def wanted(
    resource_type: ResourceType = ResourceType.ANY,
    name: str | None = None,
    pattern_type: PatternType = PatternType.ANY,
    *,
    principal: str | None = None,
    host: str | None = None,
    operation: AclOperation = AclOperation.ANY,
    permission_type: AclPermissionType = AclPermissionType.ANY,
) -> AclBindingFilter:
    """Return a filter that asks for everything but what is named."""
    return AclBindingFilter(
        ResourcePatternFilter(resource_type, name, pattern_type),
        AccessControlEntryFilter(principal, host, operation, permission_type),
    )


def request_of(
    user: str, *, host: str = "10.0.0.1", api_key: int = 29
) -> AuthorizableRequestContext:
    """Return the circumstances of a request."""
    return AuthorizableRequestContext(
        listener_name="PLAINTEXT",
        security_protocol="PLAINTEXT",
        principal=Principal.parse(_principal(user)),
        client_address=host,
        request_type=api_key,
        request_version=3,
        client_id="client-1",
        correlation_id=7,
    )


def to(operation: AclOperation, pattern: ResourcePattern) -> Action:
    """Return the action of doing this with a resource."""
    return Action(operation, pattern)


def _principal(user: str) -> str:
    return user if ":" in user else f"User:{user}"
