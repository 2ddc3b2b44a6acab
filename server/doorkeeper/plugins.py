"""What plug-ins import: the contracts that users implement, and the values that these speak of.

authorizers     KIP-504 and KIP-11: docs/reference/authorizer-contract.md
authentication  callback handlers, principal builders: docs/reference/authentication-contract.md
policies        KIP-108 and KIP-133: docs/how-to/policies.md

Plug-ins may rely on the names in ``__all__``; the modules behind them may change at any time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
    from doorkeeper.base.credentials import ScramCredential, credential_of
    from doorkeeper.base.errors import ApiError, ErrorCode
    from doorkeeper.server.authorizer.contract import (
        AUTHORIZER_CONTRACT_VERSION,
        AclBindingDeleteResult,
        AclCreateResult,
        AclDeleteResult,
        Action,
        AuthorizationResult,
        Authorizer,
        AuthorizerServerInfo,
        Changes,
        DecisionPending,
        Endpoint,
        Eventually,
        Reconfigurable,
        completed,
        masks_by_authorize,
    )
    from doorkeeper.server.authorizer.loading import authorizer_class
    from doorkeeper.server.authorizer.older import OlderAuthorizer, Session
    from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer
    from doorkeeper.server.resources.policies.contract import (
        AlterConfigPolicy,
        ConfigAlteration,
        ConfigResourceType,
        CreateTopicPolicy,
        PolicyViolation,
        TopicCreation,
    )
    from doorkeeper.server.runtime.request_context import (
        AuthorizableRequestContext,
    )
    from doorkeeper.server.security.contract import AuthenticationContext, PrincipalBuilder
    from doorkeeper.server.security.handlers_contract import (
        AUTHENTICATION_CONTRACT_VERSION,
        CallbackHandler,
        PlainPasswords,
        ScramCredentials,
        TokenRefused,
        TokenValidator,
        ValidatedToken,
    )
    from doorkeeper.server.security.principals import (
        DefaultPrincipalBuilder,
    )

# Each name is imported at its first use, so that a plug-in loads only what it needs.
_NAMES: Final = {
    "doorkeeper.acls.filters": ("matches",),
    "doorkeeper.acls.model": (
        "ANY_BINDING",
        "AccessControlEntry",
        "AccessControlEntryFilter",
        "AclBinding",
        "AclBindingFilter",
        "AclOperation",
        "AclPermissionType",
        "CLUSTER_NAME",
        "PatternType",
        "Principal",
        "ResourcePattern",
        "ResourcePatternFilter",
        "ResourceType",
    ),
    "doorkeeper.acls.operations": ("IMPLIED_OPERATIONS", "SUPPORTED_OPERATIONS"),
    "doorkeeper.base.credentials": ("ScramCredential", "credential_of"),
    "doorkeeper.base.errors": ("ApiError", "ErrorCode"),
    "doorkeeper.server.authorizer.contract": (
        "AUTHORIZER_CONTRACT_VERSION",
        "AclBindingDeleteResult",
        "AclCreateResult",
        "AclDeleteResult",
        "Action",
        "AuthorizationResult",
        "Authorizer",
        "AuthorizerServerInfo",
        "Changes",
        "DecisionPending",
        "Endpoint",
        "Eventually",
        "Reconfigurable",
        "completed",
        "masks_by_authorize",
    ),
    "doorkeeper.server.authorizer.loading": ("authorizer_class",),
    "doorkeeper.server.authorizer.older": ("OlderAuthorizer", "Session"),
    "doorkeeper.server.authorizer.standard": ("KeepsInStore", "StandardAuthorizer"),
    "doorkeeper.server.resources.policies.contract": (
        "AlterConfigPolicy",
        "ConfigAlteration",
        "ConfigResourceType",
        "CreateTopicPolicy",
        "PolicyViolation",
        "TopicCreation",
    ),
    "doorkeeper.server.runtime.request_context": ("AuthorizableRequestContext",),
    "doorkeeper.server.security.contract": ("AuthenticationContext", "PrincipalBuilder"),
    "doorkeeper.server.security.handlers_contract": (
        "AUTHENTICATION_CONTRACT_VERSION",
        "CallbackHandler",
        "PlainPasswords",
        "ScramCredentials",
        "TokenRefused",
        "TokenValidator",
        "ValidatedToken",
    ),
    "doorkeeper.server.security.principals": ("DefaultPrincipalBuilder",),
}
_PLACES: Final = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ANY_BINDING",
    "AUTHENTICATION_CONTRACT_VERSION",
    "AUTHORIZER_CONTRACT_VERSION",
    "CLUSTER_NAME",
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
    "AlterConfigPolicy",
    "ApiError",
    "AuthenticationContext",
    "AuthorizableRequestContext",
    "AuthorizationResult",
    "Authorizer",
    "AuthorizerServerInfo",
    "CallbackHandler",
    "Changes",
    "ConfigAlteration",
    "ConfigResourceType",
    "CreateTopicPolicy",
    "DecisionPending",
    "DefaultPrincipalBuilder",
    "Endpoint",
    "ErrorCode",
    "Eventually",
    "KeepsInStore",
    "OlderAuthorizer",
    "PatternType",
    "PlainPasswords",
    "PolicyViolation",
    "Principal",
    "PrincipalBuilder",
    "Reconfigurable",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "ScramCredential",
    "ScramCredentials",
    "Session",
    "StandardAuthorizer",
    "TokenRefused",
    "TokenValidator",
    "TopicCreation",
    "ValidatedToken",
    "authorizer_class",
    "completed",
    "credential_of",
    "masks_by_authorize",
    "matches",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
