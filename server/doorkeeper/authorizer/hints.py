"""Says of new ACLs that they have no effect, or less than their author may think.

A broker stores such an ACL without a word; so does this server, and its log tells of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acl.model import AclOperation, PatternType, ResourceType
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS, effects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acl.model import AclBinding

_ALL, _USER = AclOperation.ALL, ResourceType.USER

_FITTING: Final = frozenset(
    (resource_type, operation)
    for resource_type, supported in SUPPORTED_OPERATIONS.items()
    for operation in (_ALL, *supported)
    if resource_type is not _USER
)
"""Where there is nothing to say: the type of the resource and the operation."""


def hints(bindings: Iterable[AclBinding]) -> Iterator[str]:
    """Return one line for each binding whose operation does not belong to its resource type.

    And for each on a user that is no whole principal: delegation tokens are asked about with
    ``User:owner1``, where ``kafka-acls.sh --user-principal owner1`` says the name alone.
    """
    for binding in bindings:
        (resource_type, name, pattern_type), entry = binding
        operation = entry[2]
        # Nearly all end here, of a thousand that are created together.
        if (resource_type, operation) in _FITTING:
            continue
        supported = SUPPORTED_OPERATIONS.get(resource_type, ())
        acl = (
            f"{entry.permission_type.name} {entry.operation.name} for {entry.principal}"
            f" on {resource_type.name}:{pattern_type.name}:{name}"
        )
        if _names_no_principal(binding):
            yield (
                f"the ACL {acl} has no effect: a user is asked about by its whole principal,"
                f" as User:{name}"
            )
            continue
        if operation is _ALL or operation in supported:
            continue
        left = ", ".join(each.name for each in effects(binding))
        consequence = f"allows {left} only" if left else "has no effect"
        allowed = ", ".join(each.name for each in supported)
        yield f"the ACL {acl} {consequence}: the operations of {resource_type.name} are {allowed}"


def _names_no_principal(binding: AclBinding) -> bool:
    resource_type, name, pattern_type = binding.pattern
    literal = pattern_type is PatternType.LITERAL and name != "*"
    return resource_type is ResourceType.USER and literal and ":" not in name
