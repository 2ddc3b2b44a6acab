"""The authorizer contract (KIP-504), for whoever decides in the server's place.

Everything that a plug-in may rely on is exported here; the modules behind it may change at any
time. ``docs/authorizer-contract.md`` says what stays and for how long,
``docs/writing-an-authorizer.md`` begins at the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.filters import matches
from doorkeeper.acl.model import (
    ANY_BINDING,
    CLUSTER_NAME,
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
from doorkeeper.acl.operations import IMPLIED_OPERATIONS, SUPPORTED_OPERATIONS
from doorkeeper.authorizer.contract import (
    CONTRACT_VERSION,
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
    Eventually,
    completed,
    masks_by_authorize,
)
from doorkeeper.authorizer.reconfigurable import Reconfigurable
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.request_context import AuthorizableRequestContext

if TYPE_CHECKING:
    from doorkeeper.authorizer.loading import authorizer_class
    from doorkeeper.authorizer.older import OlderAuthorizer, Session
    from doorkeeper.authorizer.standard import KeepsInStore, StandardAuthorizer

__all__ = [
    "ANY_BINDING",
    "CLUSTER_NAME",
    "CONTRACT_VERSION",
    "IMPLIED_OPERATIONS",
    "SUPPORTED_OPERATIONS",
    "AccessControlEntry",
    "AccessControlEntryFilter",
    "AclBinding",
    "AclBindingDeleteResult",
    "AclBindingFilter",
    "AclCreateResult",
    "AclDeleteResult",
    "AclOperation",
    "AclPermissionType",
    "Action",
    "ApiError",
    "AuthorizableRequestContext",
    "AuthorizationResult",
    "Authorizer",
    "AuthorizerServerInfo",
    "Endpoint",
    "ErrorCode",
    "Eventually",
    "KeepsInStore",
    "OlderAuthorizer",
    "PatternType",
    "Principal",
    "Reconfigurable",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "Session",
    "StandardAuthorizer",
    "authorizer_class",
    "completed",
    "masks_by_authorize",
    "matches",
]

_LATER = {
    "KeepsInStore": "standard",
    "OlderAuthorizer": "older",
    "Session": "older",
    "StandardAuthorizer": "standard",
    "authorizer_class": "loading",
}
"""What is imported when somebody asks for it, so that the values alone stay cheap."""


def __getattr__(name: str) -> object:
    """Import what few need."""
    from importlib import import_module  # noqa: PLC0415  only those few pay for it

    if name in _LATER:
        return getattr(import_module(f"doorkeeper.authorizer.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
