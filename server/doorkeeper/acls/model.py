"""The values of Kafka's access control: principals, resource patterns, entries, bindings, filters.

All of them are named tuples: immutable, slotted, cheap to make, and hashed and compared in C,
because an index of a million of them lives from that. Their field order is the order in which
answers are sorted: resource type, name, pattern type, then principal, host, operation, permission.

Codes are Kafka's wire codes. A member UNKNOWN stands for every code that Kafka does not know.
Sources: KIP-11, KIP-290; the packages ``org.apache.kafka.common.acl`` and ``.resource``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Self

WILDCARD = "*"
"""The resource name, and the host, that stands for all of them."""

ANY_HOST = WILDCARD
"""The host of a question about an address that no binding names."""

WILDCARD_PRINCIPAL = "User:*"
"""The only principal that stands for others; it covers principals of every type."""

CLUSTER_NAME = "kafka-cluster"
"""The only name that the cluster resource has."""


class _Codes(IntEnum):
    """Wire codes, of which UNKNOWN stands for all that Kafka does not have (KIP-140)."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        # As fromCode of Java's enums; what is no code at all is refused.
        return cls["UNKNOWN"] if isinstance(value, int) else None


class ResourceType(_Codes):
    """What an ACL protects."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Codes):
    """How the name of a pattern is read; ANY and MATCH occur in filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Codes):
    """What somebody wants to do with a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(_Codes):
    """Whether an entry lets in or keeps out."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


# Kafka's numbers. A look-up costs less than a call of the class.
RESOURCE_TYPES = {member.value: member for member in ResourceType}
PATTERN_TYPES = {member.value: member for member in PatternType}
OPERATIONS = {member.value: member for member in AclOperation}
PERMISSION_TYPES = {member.value: member for member in AclPermissionType}


class Principal(NamedTuple):
    """Who asks. Both parts are case-sensitive."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        """Return ``type:name``, the form that ACLs carry."""
        return f"{self.principal_type}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Split at the first colon.

        Raises:
            ValueError: there is no colon.
        """
        principal_type, colon, name = text.partition(":")
        if not colon:
            raise ValueError(
                f"expected a string in format principalType:principalName but got {text}"
            )
        return cls(principal_type, name)


ANONYMOUS = Principal("User", "ANONYMOUS")
"""Who a client is that did not authenticate."""


class ResourcePattern(NamedTuple):
    """The resources that a binding is about: all whose type and name the pattern covers."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType


class AccessControlEntry(NamedTuple):
    """Who may, or may not, do what, from where. ``principal`` is the text ``type:name``."""

    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


class AclBinding(NamedTuple):
    """One ACL: an entry on a pattern. Two are the same when all seven fields are."""

    pattern: ResourcePattern
    entry: AccessControlEntry

    @property
    def denies(self) -> bool:
        return self.entry.permission_type is AclPermissionType.DENY


class SortedBindings(list[AclBinding]):
    """Bindings in the order of their fields, each once: whoever gets them need not sort again."""

    __slots__ = ()


class ResourcePatternFilter(NamedTuple):
    """Which patterns are asked for; a name of None asks for all names."""

    resource_type: ResourceType
    name: str | None
    pattern_type: PatternType


class AccessControlEntryFilter(NamedTuple):
    """Which entries are asked for; None asks for all principals, or all hosts."""

    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: AclPermissionType


class AclBindingFilter(NamedTuple):
    """Which bindings are asked for."""

    pattern: ResourcePatternFilter
    entry: AccessControlEntryFilter


ANY_BINDING = AclBindingFilter(
    ResourcePatternFilter(ResourceType.ANY, None, PatternType.ANY),
    AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY),
)
"""The filter that asks for everything."""


def exactly(binding: AclBinding) -> AclBindingFilter:
    """Return the filter that matches this binding and no other."""
    pattern, entry = binding
    return AclBindingFilter(ResourcePatternFilter(*pattern), AccessControlEntryFilter(*entry))
