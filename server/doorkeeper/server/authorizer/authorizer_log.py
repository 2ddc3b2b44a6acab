"""Kafka's authorizer log: its sink, its levels, and the line of a decision in each format.

Kafka writes to the logger ``kafka.authorizer.logger``: allowed accesses at DEBUG, denied ones at
INFO, probes that are no access by themselves at TRACE.

A format is named by the release that introduced it:

    4.2    StandardAuthorizer, 4.2 on: the ACL of the rule in square brackets
    3.3    StandardAuthorizer, 3.3 to 4.1: the ACL of the rule in round brackets
    2.4    AclAuthorizer, 2.4 to 3.9: request and reference count, no rule
    2.0    SimpleAclAuthorizer, 2.0 to 2.3: the pattern type in the resource
    1.0    SimpleAclAuthorizer, 0.9 to 1.1: type and name only

Nothing is escaped, as in Kafka; the log that writes the line escapes control characters.

Source: ``StandardAuthorizerData.buildAuditMessage``, ``AclAuthorizer.logAuditMessage``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from doorkeeper.acls.decision import Decision, RuleKind
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.contract import Action
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

Form = Callable[["AuthorizableRequestContext", "Action", "Decision"], str]


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


_TYPE_NAMES = {resource_type: _pascal(resource_type.name) for resource_type in ResourceType}
_OPERATION_NAMES = {operation: _pascal(operation.name) for operation in AclOperation}


def line_4_2(
    context: AuthorizableRequestContext, action: Action, decision: Decision, brackets: str = "[]"
) -> str:
    """Render the format of Kafka 4.2 and later."""
    resource = action.resource
    return (
        f"{_head(context, decision)} operation = {action.operation.name}"
        f" from host = {context.client_address} on resource ="
        f" {_TYPE_NAMES[resource.resource_type]}:{resource.pattern_type.name}:{resource.name}"
        f"{_request(context, action)} based on rule {_rule(decision, *brackets)}"
    )


def line_3_3(context: AuthorizableRequestContext, action: Action, decision: Decision) -> str:
    """Render the format of StandardAuthorizer in Kafka 3.3 to 4.1."""
    return line_4_2(context, action, decision, "()")


def line_2_4(context: AuthorizableRequestContext, action: Action, decision: Decision) -> str:
    """Render the format of AclAuthorizer in Kafka 2.4 to 3.9."""
    return f"{line_2_0(context, action, decision)}{_request(context, action)}"


def line_2_0(
    context: AuthorizableRequestContext, action: Action, decision: Decision, *, pattern: bool = True
) -> str:
    """Render the format of SimpleAclAuthorizer in Kafka 2.0 to 2.3."""
    resource = action.resource
    pattern_type = f"{resource.pattern_type.name}:" if pattern else ""
    return (
        f"{_head(context, decision)} Operation = {_OPERATION_NAMES[action.operation]}"
        f" from host = {context.client_address} on resource ="
        f" {_TYPE_NAMES[resource.resource_type]}:{pattern_type}{resource.name}"
    )


def line_1_0(context: AuthorizableRequestContext, action: Action, decision: Decision) -> str:
    """Render the format of Kafka before 2.0."""
    return line_2_0(context, action, decision, pattern=False)


FORMS: Mapping[str, Form] = {
    "4.2": line_4_2,
    "3.3": line_3_3,
    "2.4": line_2_4,
    "2.0": line_2_0,
    "1.0": line_1_0,
}


def line_of_others(context: AuthorizableRequestContext, denials: int) -> str:
    """Render the line, which Kafka has not, of denials of a request that have no lines."""
    head = _head(context, Decision(False, RuleKind.DEFAULT_DENY))
    request = API_NAMES.get(context.request_type, str(context.request_type))
    return (
        f"{head} on {denials} more resources from host = {context.client_address}"
        f" for request = {request}: a large request has no lines for them"
    )


def _head(context: AuthorizableRequestContext, decision: Decision) -> str:
    principal = context.principal
    verdict = "Allowed" if decision.allowed else "Denied"
    return f"Principal = {principal.principal_type}:{principal.name} is {verdict}"


def _request(context: AuthorizableRequestContext, action: Action) -> str:
    key = context.request_type
    return (
        f" for request = {API_NAMES.get(key, str(key))}"
        f" with resourceRefCount = {action.resource_reference_count}"
    )


def _rule(decision: Decision, left: str, right: str) -> str:
    if decision.rule is not RuleKind.MATCHING_ACL or decision.binding is None:
        return decision.rule.value
    return f"MatchingAcl(acl={_standard_acl(decision.binding, left, right)})"


def _standard_acl(binding: AclBinding, left: str, right: str) -> str:
    pattern, entry = binding
    return (
        f"StandardAcl{left}resourceType={pattern.resource_type.name},"
        f" resourceName={pattern.name}, patternType={pattern.pattern_type.name},"
        f" principal={entry.principal}, host={entry.host}, operation={entry.operation.name},"
        f" permissionType={entry.permission_type.name}{right}"
    )


# --- the log

TRACE = 5
DEBUG = 10
INFO = 20

LOGGER_NAME = "kafka.authorizer.logger"


class StandardLibraryLog:
    """Writes lines to the standard library's logger under Kafka's name; its own threshold."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER_NAME)
        self.threshold = self

    @property
    def level(self) -> int:
        return self._logger.getEffectiveLevel()

    def write(self, level: int, text: str) -> None:
        # As an argument: resource names in the text may contain percent signs.
        self._logger.log(level, "%s", text)
