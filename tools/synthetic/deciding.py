"""Kafka's decision, walked over all ACLs: slow, small, and without a line of the product's engine.

A DENY wins over every ALLOW. An ALLOW of READ, WRITE, DELETE or ALTER includes DESCRIBE, and one of
ALTER_CONFIGS includes DESCRIBE_CONFIGS; a DENY does not. Without any ACL on a resource,
``allow.everyone.if.no.acl.found`` decides. The host of an ACL may be a network, as in Kafka 4.4.

Source: ``StandardAuthorizerData.authorize`` and ``findResult``.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from doorkeeper.acls.decision import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    SUPER_USER,
    Decision,
    Policy,
    Question,
    RuleKind,
)
from doorkeeper.acls.model import AclBinding, AclOperation, AclPermissionType, PatternType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acls.model import AccessControlEntry, ResourcePattern

_INCLUDING_DESCRIBE = (
    *(AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER),
)


class Acls:
    """A set of ACLs that answers questions, each once."""

    def __init__(self, bindings: Iterable[AclBinding], policy: Policy) -> None:
        """Take the bindings, and what decides beside them."""
        self._policy = policy
        self._bindings = sorted(bindings, key=_denies_first)
        self._known: dict[Question, Decision] = {}

    def decide(self, question: Question) -> Decision:
        """Return the decision, with the first ACL that leads to it."""
        if question not in self._known:
            self._known[question] = self._decide(question)
        return self._known[question]

    def allows(self, question: Question) -> bool:
        """Say whether a request is allowed."""
        return self.decide(question).allowed

    def _decide(self, question: Question) -> Decision:
        if question.principal in self._policy.super_users:
            return SUPER_USER
        about = [each for each in self._bindings if covers(each.pattern, question)]
        for binding in about:
            if matches(binding.entry, question):
                allowed = binding.entry.permission_type is AclPermissionType.ALLOW
                return Decision(allowed, RuleKind.MATCHING_ACL, binding, "")
        return DEFAULT_ALLOW if self._policy.allow_everyone and not about else DEFAULT_DENY


def covers(pattern: ResourcePattern, question: Question) -> bool:
    """Say whether a pattern covers the resource of a question."""
    if pattern.resource_type is not question.resource_type:
        return False
    if pattern.pattern_type is PatternType.PREFIXED:
        return question.name.startswith(pattern.name)
    # The walk of a broker never comes to "*" for a name that begins with it and goes on.
    return pattern.name == question.name or (
        pattern.name == "*" and not question.name.startswith("*")
    )


def matches(entry: AccessControlEntry, question: Question) -> bool:
    """Say whether an entry is for the principal, host and operation of a question."""
    return (
        entry.principal in ("User:*", question.principal)
        and _is_from(entry.host, question.host)
        and _is_for(entry, question.operation)
    )


def _denies_first(binding: AclBinding) -> tuple[bool, AclBinding]:
    return binding.entry.permission_type is AclPermissionType.ALLOW, binding


def _is_from(host: str, address: str) -> bool:
    if "/" in host:
        return ip_address(address) in ip_network(host, strict=False)
    return host in ("*", address)


def _is_for(entry: AccessControlEntry, operation: AclOperation) -> bool:
    if entry.operation in (AclOperation.ALL, operation):
        return True
    if entry.permission_type is AclPermissionType.DENY:
        return False
    if operation is AclOperation.DESCRIBE:
        return entry.operation in _INCLUDING_DESCRIBE
    is_configs = operation is AclOperation.DESCRIBE_CONFIGS
    return is_configs and entry.operation is AclOperation.ALTER_CONFIGS
