"""What the authorizer refuses to store or to search: rules and texts of the controller.

``hints`` are about ACLs that are stored although they have no effect.

The handlers refuse before that what the broker refuses: names of the cluster, empty names. What no
answer could carry is refused wherever bindings come in, and whichever authorizer there is.

Source: ``AclControlManager`` (4.3.1; hosts that may be networks: 4.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acls.model import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.acls.networks import InvalidNetwork, parse_network
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS, effects
from doorkeeper.base.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ACLS_PER_REQUEST_MAX = 10_000
"""How many ACLs one request may create, or delete: ``MAX_RECORDS_PER_USER_OP``."""

TEXT_BYTES_MAX = 32_767
"""The longest text of Kafka's protocol, in bytes of UTF-8."""

_TYPES = frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
_OPERATIONS = frozenset(AclOperation) - {AclOperation.UNKNOWN, AclOperation.ANY}
_PATTERN_TYPES = frozenset({PatternType.LITERAL, PatternType.PREFIXED})
_PERMISSIONS = frozenset({AclPermissionType.DENY, AclPermissionType.ALLOW})


def check_binding(binding: AclBinding, *, networks: bool = False) -> ApiError | None:
    """Return why the binding cannot be stored, or None.

    Whether the operation makes sense on the resource and which type the principal has is not
    checked: a broker stores what has no effect. The host is checked where it may be a network.
    """
    (resource_type, name, pattern_type), (principal, host, operation, permission_type) = binding
    # Nearly all end here, of a thousand that are created together.
    if (
        resource_type in _TYPES
        and pattern_type in _PATTERN_TYPES
        and operation in _OPERATIONS
        and permission_type in _PERMISSIONS
        and name
        and ":" in principal
    ):
        return _host_refusal(host) if networks and (not host or "/" in host) else None
    return _invalid(_fault(binding))


def unstorable(binding: AclBinding) -> str | None:
    """Return why brokers refuse to create a binding that an old cluster may have, or None."""
    fault = check_binding(binding)
    if fault is not None:
        return str(fault)
    return None if binding.entry.host else "the host is empty; allowed: * or an IP address"


def _host_refusal(host: str) -> ApiError | None:
    if not host:
        return _invalid("Host pattern cannot be null or empty")
    try:
        parse_network(host)
    except InvalidNetwork as error:
        return _invalid(f"Invalid CIDR notation '{host}': {error}")
    return None


def _fault(binding: AclBinding) -> str:
    """Return the first rule that a binding breaks."""
    (resource_type, name, pattern_type), (principal, _, operation, permission_type) = binding
    for what, member, allowed in (
        ("resourceType", resource_type, _TYPES),
        ("patternType", pattern_type, _PATTERN_TYPES),
        ("operation", operation, _OPERATIONS),
        ("permissionType", permission_type, _PERMISSIONS),
    ):
        if member not in allowed:
            return f"Invalid {what} {member.name}"
    if not name:
        return "Resource name should not be empty"
    return (
        f"Could not parse principal from `{principal}` (no colon is present"
        " separating the principal type from the principal name)"
    )


def unencodable(acl: AclBinding | AclBindingFilter) -> ApiError | None:
    """Return why no message can carry a binding, or a filter, or None.

    One such ACL in a description, and nobody could be told of any. The wire lets some in: bytes
    that are no UTF-8 become characters of three bytes each.

    Source: the ``addSize`` that Kafka's ``MessageDataGenerator`` writes.
    """
    (_, name, _), (principal, host, _, _) = acl
    # Nearly all end here: that what is joined fits is one question for three.
    joined = f"{name}{principal}{host}"
    if joined.isascii() and len(joined) <= TEXT_BYTES_MAX:
        return None
    texts = (("Resource name", name), ("Principal", principal), ("Host", host))
    faults = (f"{what} {fault}" for what, text in texts if text and (fault := text_fault(text)))
    text = next(faults, None)
    return None if text is None else _invalid(text)


def text_fault(text: str) -> str | None:
    """Return why no message can carry a text, or None."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "contains an unpaired surrogate, which is not a character"
    return f"takes {size} bytes; at most {TEXT_BYTES_MAX}" if size > TEXT_BYTES_MAX else None


def check_filter(filter: AclBindingFilter) -> ApiError | None:
    """Return why nothing can be deleted by the filter, or None."""
    pattern, entry = filter
    if pattern.resource_type is ResourceType.UNKNOWN or pattern.pattern_type is PatternType.UNKNOWN:
        return _invalid("Unknown patternFilter.")
    if (
        entry.operation is AclOperation.UNKNOWN
        or entry.permission_type is AclPermissionType.UNKNOWN
    ):
        return _invalid("Unknown entryFilter.")
    return None


def too_many_created() -> ApiError:
    """Return the refusal of a whole request that would create too many ACLs."""
    return ApiError(
        ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
    )


def too_many_deleted() -> ApiError:
    """Return the refusal of a whole request that would delete too many ACLs."""
    return _invalid(
        f"Cannot remove more than {ACLS_PER_REQUEST_MAX} acls in a single delete operation."
    )


def _invalid(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)


# --- hints

_ALL, _USER = AclOperation.ALL, ResourceType.USER

_FITTING: Final = frozenset(
    (resource_type, operation)
    for resource_type, supported in SUPPORTED_OPERATIONS.items()
    for operation in (_ALL, *supported)
    if resource_type is not _USER
)
"""Pairs of a resource type and an operation that need no hint."""


def hints(bindings: Iterable[AclBinding]) -> list[str]:
    """Return a line for each ACL that has no effect, or less than expected.

    These are ACLs whose operation does not belong to their resource type, and ACLs on a user whose
    name is no principal: the resource of delegation tokens is ``User:owner1``, but ``kafka-acls.sh
    --user-principal owner1`` sends the bare name. A broker stores both without a warning.
    """
    lines: list[str] = []
    for binding in bindings:
        # Nearly all end here, of a thousand that are created together.
        if (binding[0][0], binding[1][2]) not in _FITTING:
            lines += _hints_of(binding)
    return lines


def _hints_of(binding: AclBinding) -> Iterator[str]:
    (resource_type, name, pattern_type), entry = binding
    supported = SUPPORTED_OPERATIONS.get(resource_type, ())
    acl = (
        f"{entry.permission_type.name} {entry.operation.name} for {entry.principal}"
        f" on {resource_type.name}:{pattern_type.name}:{name}"
    )
    literal = pattern_type is PatternType.LITERAL and name != "*"
    if resource_type is _USER and literal and ":" not in name:
        yield (
            f"the ACL {acl} has no effect: a USER resource is named by its full principal, such"
            f" as User:{name}"
        )
    elif entry.operation is not _ALL and entry.operation not in supported:
        left = ", ".join(operation.name for operation in effects(binding))
        consequence = f"allows {left} only" if left else "has no effect"
        allowed = ", ".join(operation.name for operation in supported)
        yield f"the ACL {acl} {consequence}; the operations on {resource_type.name} are {allowed}"
