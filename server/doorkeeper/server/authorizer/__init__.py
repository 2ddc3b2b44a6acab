"""The authorizer contract (KIP-504), for plug-ins.

Plug-ins may rely on the names in ``__all__``; the modules behind them may change at any time.
``docs/reference/authorizer-contract.md`` states the compatibility guarantee; start with
``docs/tutorials/an-authorizer-of-your-own.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.filters import matches
from doorkeeper.acls.model import (
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
from doorkeeper.acls.operations import IMPLIED_OPERATIONS, SUPPORTED_OPERATIONS
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import (
    CONTRACT_VERSION,
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    DecisionPending,
    Endpoint,
    Eventually,
    completed,
    masks_by_authorize,
)
from doorkeeper.server.authorizer.reconfigurable import Reconfigurable
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.loading import authorizer_class
    from doorkeeper.server.authorizer.older import OlderAuthorizer, Session
    from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer

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
    "DecisionPending",
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

# Imported on first use, so that plug-ins which need only the values start fast.
_LATER = {
    "KeepsInStore": "standard",
    "OlderAuthorizer": "older",
    "Session": "older",
    "StandardAuthorizer": "standard",
    "authorizer_class": "loading",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415  rarely needed

    if name in _LATER:
        return getattr(import_module(f"doorkeeper.authorizer.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
