"""Whether what an authorizer returns is what its contract says, down to the last field.

What is not would only be found when an answer is written, where nothing can be answered any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
)
from doorkeeper.errors import ApiError

if TYPE_CHECKING:
    from typing import TypeGuard


_TYPES = (ResourceType, str, PatternType, str, str, AclOperation, AclPermissionType)
"""Of the fields of a pattern and of an entry."""


def is_binding(found: Any) -> TypeGuard[AclBinding]:  # noqa: ANN401 - plug-ins return what they like
    """Say whether it is a binding of patterns, texts and enums."""
    if type(found) is not AclBinding:
        return False
    if type(found.pattern) is not ResourcePattern or type(found.entry) is not AccessControlEntry:
        return False
    return all(map(isinstance, (*found.pattern, *found.entry), _TYPES))


def is_create_result(found: Any) -> TypeGuard[AclCreateResult]:  # noqa: ANN401 - as above
    """Say whether it is the result of one binding."""
    return isinstance(found, AclCreateResult) and _is_error(found.error)


def is_delete_result(found: Any) -> TypeGuard[AclDeleteResult]:  # noqa: ANN401 - as above
    """Say whether it is the result of one filter, with the results of the bindings it matched."""
    if not isinstance(found, AclDeleteResult) or not _is_error(found.error):
        return False
    bindings: Any = found.bindings
    return isinstance(bindings, (tuple, list)) and all(map(_is_binding_delete_result, bindings))


def _is_binding_delete_result(found: Any) -> bool:  # noqa: ANN401 - as above
    return (
        isinstance(found, AclBindingDeleteResult)
        and _is_error(found.error)
        and is_binding(found.binding)
    )


def _is_error(found: Any) -> bool:  # noqa: ANN401 - as above
    return found is None or isinstance(found, ApiError)
