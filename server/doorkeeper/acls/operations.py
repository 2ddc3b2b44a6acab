"""Which operations exist on which resource, what they imply, and how they become bits.

A mask holds what one principal may and may not do with one resource: bit ``code`` is an ALLOW of
the operation with that wire code, bit ``code + 16`` a DENY. A question is two tests against it:

    mask & DENY_TESTS[operation]      somebody denied it: the answer is no
    mask & ALLOW_TESTS[operation]     somebody allowed it

An ALLOW implies more than a DENY: ALLOW READ implies DESCRIBE, DENY READ leaves DESCRIBE alone.

Source: ``StandardAuthorizerData.findResult``, ``AclEntry.supportedOperations`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from doorkeeper.acls.model import AclBinding, AclOperation, AclPermissionType, ResourceType

DENY_SHIFT = 16
"""How far the bits of DENY stand above those of ALLOW."""

SUPPORTED_OPERATIONS: Mapping[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (
        AclOperation.WRITE,
        AclOperation.DESCRIBE,
        AclOperation.TWO_PHASE_COMMIT,
    ),
    ResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    ResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}
"""What requests ask of a resource of each type, in the order of the codes."""

IMPLIED_BY: Mapping[AclOperation, frozenset[AclOperation]] = {
    AclOperation.DESCRIBE: frozenset(
        {
            AclOperation.DESCRIBE,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        }
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset(
        {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}
    ),
}
"""The operations whose ALLOW includes another one. ALL includes everything and is not listed."""


IMPLIED_OPERATIONS: Mapping[AclOperation, frozenset[AclOperation]] = {
    held: frozenset(
        asked
        for asked in AclOperation
        if asked not in (AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL, held)
        and (held is AclOperation.ALL or held in IMPLIED_BY.get(asked, ()))
    )
    for held in AclOperation
    if held not in (AclOperation.UNKNOWN, AclOperation.ANY)
}
"""The other operations that an ALLOW of each one includes. A DENY implies nothing, but for ALL."""


def satisfied_by(operation: AclOperation, allowed: AclOperation) -> bool:
    """Say whether an ALLOW of ``allowed`` lets the operation through."""
    if allowed is AclOperation.ALL:
        return True
    return allowed in IMPLIED_BY.get(operation, (operation,))


ALLOW_TESTS: tuple[int, ...] = tuple(
    sum(1 << allowed for allowed in AclOperation if satisfied_by(operation, allowed))
    for operation in AclOperation
)
"""By operation code: the bits of which one allows the operation."""

DENY_TESTS: tuple[int, ...] = tuple(
    (1 << operation | 1 << AclOperation.ALL) << DENY_SHIFT for operation in AclOperation
)
"""By operation code: the bits of which one denies the operation."""

EXACT_ALLOW_TESTS: tuple[int, ...] = tuple(
    1 << operation | 1 << AclOperation.ALL for operation in AclOperation
)
"""By operation code: the bits that allow it without implication, as KIP-679 asks."""


# Bound once: looking a member up on its class costs more than the rest of it (Python 3.11).
_ALLOW = AclPermissionType.ALLOW


def entry_bit(operation: AclOperation, permission_type: AclPermissionType) -> int:
    """Return the bit that stands for an entry in a mask."""
    return 1 << operation if permission_type is _ALLOW else 1 << operation + DENY_SHIFT


ENTRY_BITS: tuple[tuple[int, ...], ...] = tuple(
    tuple(entry_bit(operation, permission_type) for operation in AclOperation)
    for permission_type in AclPermissionType
)
"""By codes of permission and operation: the bit that stands for an entry in a mask."""

_ENTRIES = tuple(
    (entry_bit(operation, permission_type), (operation, permission_type))
    for operation in AclOperation
    for permission_type in (AclPermissionType.DENY, AclPermissionType.ALLOW)
)
"""What each bit stands for, sorted as answers are."""


def entries_of(mask: int) -> list[tuple[AclOperation, AclPermissionType]]:
    """Return the operations and permissions of which a mask consists, sorted as answers are."""
    return [entry for bit, entry in _ENTRIES if mask & bit]


# Of thousands of masks most are a few.
@lru_cache(maxsize=1024)
def operations_of(resource_type: ResourceType, mask: int) -> tuple[AclOperation, ...]:
    """Return the operations of a type whose codes are bits of a mask."""
    return tuple(
        operation for operation in SUPPORTED_OPERATIONS[resource_type] if mask >> operation & 1
    )


@cache
def full_mask(resource_type: ResourceType) -> int:
    """Return the authorized operations of one who may do everything, as answers carry them.

    Bit ``code`` for each supported operation: 3576 for a topic, 3400 for a group, 8096 for the
    cluster (KIP-430).
    """
    return sum(1 << operation for operation in SUPPORTED_OPERATIONS.get(resource_type, ()))


# Of thousands of resources most have one of a few masks.
@lru_cache(maxsize=1024)
def allowed_mask(resource_type: ResourceType, held: int) -> int:
    """Return the authorized operations of one who holds this mask, as answers carry them."""
    return sum(
        1 << operation
        for operation in SUPPORTED_OPERATIONS.get(resource_type, ())
        if held & ALLOW_TESTS[operation] and not held & DENY_TESTS[operation]
    )


def denied_mask(resource_type: ResourceType, held: int) -> int:
    """Return the operations that a DENY of one who holds this mask decides."""
    return sum(
        1 << operation
        for operation in SUPPORTED_OPERATIONS.get(resource_type, ())
        if held & DENY_TESTS[operation]
    )


def effects(binding: AclBinding) -> tuple[AclOperation, ...]:
    """Return the operations that a binding lets through or keeps out.

    None at all means that the ACL has no effect: no request asks for such a thing.
    """
    bit = entry_bit(binding.entry.operation, binding.entry.permission_type)
    return _EFFECTS.get(_effects_key(binding.pattern.resource_type, bit), ())


def _effects_key(resource_type: ResourceType, bit: int) -> int:
    # A number, since the members of an enumeration are hashed in Python.
    return bit << 3 | resource_type


_EFFECTS = {
    _effects_key(resource_type, entry_bit(operation, permission_type)): tuple(
        asked
        for asked in supported
        if (
            satisfied_by(asked, operation)
            if permission_type is AclPermissionType.ALLOW
            else operation in (asked, AclOperation.ALL)
        )
    )
    for resource_type, supported in SUPPORTED_OPERATIONS.items()
    for operation in AclOperation
    for permission_type in (AclPermissionType.DENY, AclPermissionType.ALLOW)
}
