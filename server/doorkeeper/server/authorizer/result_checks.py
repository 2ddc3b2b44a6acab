"""Validates results of authorizers, down to the types of their fields.

An invalid field would only be detected while a response is encoded, too late to send an error.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.errors import ApiError
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
)

# The types of the fields of a pattern and an entry.
_TYPES = (ResourceType, str, PatternType, str, str, AclOperation, AclPermissionType)


def is_binding(found: object) -> TypeGuard[AclBinding]:
    """Return whether it is a binding whose fields have the right types."""
    if type(found) is not AclBinding:
        return False
    if type(found.pattern) is not ResourcePattern or type(found.entry) is not AccessControlEntry:
        return False
    return all(map(isinstance, (*found.pattern, *found.entry), _TYPES))


def is_create_result(found: object) -> TypeGuard[AclCreateResult]:
    """Return whether it is a valid result for one binding."""
    return isinstance(found, AclCreateResult) and _is_error(found.error)


def is_delete_result(found: object) -> TypeGuard[AclDeleteResult]:
    """Return whether it is a valid result for one filter."""
    if not isinstance(found, AclDeleteResult) or not _is_error(found.error):
        return False
    bindings: Any = found.bindings
    return isinstance(bindings, (tuple, list)) and all(map(_is_binding_delete_result, bindings))


def _is_binding_delete_result(found: object) -> bool:
    return (
        isinstance(found, AclBindingDeleteResult)
        and _is_error(found.error)
        and is_binding(found.binding)
    )


def _is_error(found: object) -> bool:
    return found is None or isinstance(found, ApiError)
