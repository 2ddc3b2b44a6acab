"""Kafka's numbers of resource types, pattern types, operations and permission types.

Source: ``ResourceType.fromCode`` and its siblings in ``org.apache.kafka.common``.
"""

from __future__ import annotations

from doorkeeper.acls.model import AclOperation, AclPermissionType, PatternType, ResourceType

RESOURCE_TYPES = {member.value: member for member in ResourceType}
PATTERN_TYPES = {member.value: member for member in PatternType}
OPERATIONS = {member.value: member for member in AclOperation}
PERMISSION_TYPES = {member.value: member for member in AclPermissionType}
