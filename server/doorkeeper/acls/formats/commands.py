"""A binding as options of ``kafka-acls.sh --add`` and ``--remove``; ``doorkeeper acls`` too.

Source: ``AclCommand.AclCommandOptions`` (4.3.1).
"""

from __future__ import annotations

from enum import IntEnum

from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS

KAFKA_ACLS = "kafka-acls.sh"

_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


_CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)


def options_of(binding: AclBinding) -> list[str] | None:
    """Return the options that name a binding; None if the tool cannot express it.

    It cannot express operations that the resource type does not support, patterns of the cluster
    other than its literal name, and principals without a type; and it trims blanks.
    """
    (resource_type, name, pattern_type), entry = binding
    if resource_type is ResourceType.CLUSTER and binding.pattern != _CLUSTER:
        return None
    if ":" not in entry.principal:
        return None
    supported = (*SUPPORTED_OPERATIONS.get(resource_type, ()), AclOperation.ALL)
    if entry.operation not in supported:
        return None
    if any(text != text.strip() for text in (name, entry.principal, entry.host)):
        return None
    permission = "allow" if entry.permission_type is AclPermissionType.ALLOW else "deny"
    words = [_option(f"--{permission}-principal", entry.principal)]
    if entry.host != WILDCARD:
        words.append(_option(f"--{permission}-host", entry.host))
    words.append(["--operation", kafkas_word(entry.operation)])
    option = _OPTIONS.get(resource_type)
    words.append(["--cluster"] if option is None else _option(option, name))
    if pattern_type is PatternType.PREFIXED:
        words.append(["--resource-pattern-type", "prefixed"])
    return [word for pair in words for word in pair]


def kafkas_word(member: IntEnum) -> str:
    """Return an operation or a type in the tool's spelling: ``DescribeConfigs``."""
    return member.name.replace("_", " ").title().replace(" ", "")


def _option(option: str, value: str) -> list[str]:
    # A value that begins with a hyphen would be taken for an option.
    return [f"{option}={value}"] if value.startswith("-") or not value else [option, value]
