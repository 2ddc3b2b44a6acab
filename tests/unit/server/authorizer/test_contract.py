"""The contract's own defaults; tests/property/acl/test_by_type.py has that of "some"."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper import plugins
from doorkeeper.acls.model import AclBinding, AclBindingFilter, AclOperation, ResourceType
from doorkeeper.acls.operations import IMPLIED_OPERATIONS, SUPPORTED_OPERATIONS
from doorkeeper.server.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
    completed,
)
from testkit.acl import READ, WRITE, allow, group, request_of, topic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext


class Plugin(Authorizer):
    """Implements what it must, and no more: denies all, and knows one ACL."""

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        return [AuthorizationResult.DENIED for _ in actions]

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Sequence[Awaitable[AclCreateResult]]:
        return []

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Sequence[Awaitable[AclDeleteResult]]:
        return []

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        return [allow("alice", READ, topic("a"))]


def test_plug_in_has_contract_defaults() -> None:
    """It configures and closes without a word, counts -1, and is asked for "some" through acls."""
    plugin = Plugin()
    plugin.configure({"any": "thing"})
    plugin.close()

    assert plugin.acl_count() == -1
    answers = [
        plugin.authorize_by_resource_type(request_of("alice"), operation, ResourceType.TOPIC)
        for operation in (READ, WRITE)
    ]
    assert answers == [AuthorizationResult.ALLOWED, AuthorizationResult.DENIED]


class Asked(Plugin):
    """Allows DELETE and what it implies, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[list[Action]] = []

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        self.calls.append(list(actions))
        held = {AclOperation.DELETE} | IMPLIED_OPERATIONS[AclOperation.DELETE]
        return [
            AuthorizationResult.ALLOWED if each.operation in held else AuthorizationResult.DENIED
            for each in actions
        ]


def test_masks_check_all_operations_without_logging() -> None:
    """One call for all resources; nothing of it is logged, and a repeated resource is answered."""
    plugin, orders, readers = Asked(), topic("orders"), group("readers")

    masks = plugin.authorized_operations(request_of("alice"), [orders, readers, orders])

    mask = 1 << AclOperation.DELETE | 1 << AclOperation.DESCRIBE
    assert masks == [mask, mask, mask]
    (asked,) = plugin.calls
    assert {each.operation for each in asked if each.resource == readers} == set(
        SUPPORTED_OPERATIONS[ResourceType.GROUP]
    )
    assert not any(each.log_if_allowed or each.log_if_denied for each in asked)
    assert plugin.authorized_operations(request_of("alice"), []) == []


async def test_known_result_is_complete() -> None:
    result = AclCreateResult()

    here: Any = completed(result)
    there: Any = await asyncio.to_thread(completed, result)

    assert here.result() is result
    assert there.result() is result


@pytest.mark.parametrize("answer", [True, None, "ALLOWED", 1])
def test_defaults_accept_only_the_two_results(answer: Any) -> None:
    class Odd(Plugin):
        def authorize(self, context: Any, actions: Sequence[Action]) -> Any:
            return [answer for _ in actions]

    with pytest.raises(TypeError, match="expected: an AuthorizationResult"):
        Odd().authorized_operations(request_of("alice"), [topic("a")])
    with pytest.raises(TypeError, match="expected: an AuthorizationResult"):
        Odd().authorize_by_resource_type(request_of("alice"), READ, ResourceType.TOPIC)


METHODS = {
    "configure": ("configs",),
    "start": ("server_info",),
    "authorize": ("context", "actions"),
    "create_acls": ("context", "bindings"),
    "delete_acls": ("context", "filters"),
    "acls": ("wanted",),
    "acl_count": (),
    "authorize_by_resource_type": ("context", "operation", "resource_type"),
    "authorized_operations": ("context", "resources"),
    "close": (),
}
REQUIRED = {"start", "authorize", "create_acls", "delete_acls", "acls"}
FIELDS = {
    "AccessControlEntry": "principal host operation permission_type",
    "AccessControlEntryFilter": "principal host operation permission_type",
    "AclBinding": "pattern entry",
    "AclBindingDeleteResult": "binding error",
    "AclBindingFilter": "pattern entry",
    "AclCreateResult": "error",
    "AclDeleteResult": "error bindings",
    "Action": "operation resource resource_reference_count log_if_allowed log_if_denied",
    "AuthorizableRequestContext": (
        "listener_name security_protocol principal client_address request_type request_version"
        " client_id correlation_id client_software"
    ),
    "AuthorizerServerInfo": (
        "cluster_id node_id endpoints inter_broker_endpoint early_start_listeners"
    ),
    "Endpoint": "listener_name security_protocol host port",
    "Principal": "principal_type name",
    "ResourcePattern": "resource_type name pattern_type",
    "ResourcePatternFilter": "resource_type name pattern_type",
    "Session": "principal client_address",
}
NAMES = {
    "ANY_BINDING", "AUTHORIZER_CONTRACT_VERSION", "CLUSTER_NAME", "IMPLIED_OPERATIONS",
    "SUPPORTED_OPERATIONS",
    "AclOperation", "AclPermissionType", "ApiError", "AuthorizationResult", "Authorizer", "Changes",
    "DecisionPending", "ErrorCode", "Eventually", "KeepsInStore", "OlderAuthorizer", "PatternType",
    "Reconfigurable", "ResourceType", "StandardAuthorizer", "authorizer_class", "completed",
    "masks_by_authorize", "matches", *FIELDS,
}  # fmt: skip


def test_contract_is_stable() -> None:
    assert plugins.AUTHORIZER_CONTRACT_VERSION == (2, 0)
    assert set(plugins.__all__) >= NAMES
    for name, parameters in METHODS.items():
        _, *found = inspect.signature(getattr(Authorizer, name)).parameters
        assert tuple(found) == parameters, name
    assert Authorizer.__abstractmethods__ == REQUIRED
    for name, fields in FIELDS.items():
        assert " ".join(getattr(plugins, name)._fields) == fields, name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        assert plugins.Nothing
