"""Kafka's numbers of resource types, pattern types, operations and permission types.

Source: ``ResourceType.fromCode`` and its siblings in ``org.apache.kafka.common``.
"""

from __future__ import annotations

from doorkeeper.acls.model import AclOperation, AclPermissionType, PatternType, ResourceType

RESOURCE_TYPES = {member.value: member for member in ResourceType}
PATTERN_TYPES = {member.value: member for member in PatternType}
OPERATIONS = {member.value: member for member in AclOperation}
PERMISSION_TYPES = {member.value: member for member in AclPermissionType}


def resource_type(code: int) -> ResourceType:
    """Return the resource type of a code; UNKNOWN for a code that Kafka does not know."""
    return RESOURCE_TYPES.get(code, ResourceType.UNKNOWN)


def pattern_type(code: int) -> PatternType:
    """Return the pattern type of a code; UNKNOWN for a code that Kafka does not know."""
    return PATTERN_TYPES.get(code, PatternType.UNKNOWN)


def operation(code: int) -> AclOperation:
    """Return the operation of a code; UNKNOWN for a code that Kafka does not know."""
    return OPERATIONS.get(code, AclOperation.UNKNOWN)


def permission_type(code: int) -> AclPermissionType:
    """Return the permission type of a code; UNKNOWN for a code that Kafka does not know."""
    return PERMISSION_TYPES.get(code, AclPermissionType.UNKNOWN)
