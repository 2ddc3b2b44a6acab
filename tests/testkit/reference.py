"""Kafka's authorization in a few dozen lines: slow, obvious, and written apart from the engine.

It walks a list of bindings, as the broker's code reads. No indexes, no masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.model import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from doorkeeper.acls.decision import Policy, Question
    from doorkeeper.acls.model import AclBindingFilter

IMPLIED = {
    AclOperation.DESCRIBE: "DESCRIBE READ WRITE DELETE ALTER ALL",
    AclOperation.DESCRIBE_CONFIGS: "DESCRIBE_CONFIGS ALTER_CONFIGS ALL",
}


class Verdict(NamedTuple):
    """The answer, the broker's word for the rule, and the binding behind it."""

    allowed: bool
    rule: str
    binding: AclBinding | None


def decide(policy: Policy, bindings: Collection[AclBinding], question: Question) -> Verdict:
    """Answer as the broker does."""
    if question.principal in policy.super_users:
        return Verdict(allowed=True, rule="SuperUser", binding=None)
    covering = [binding for binding in walk(bindings, question) if covers(binding, question)]
    allowing = None
    for binding in covering:
        if not applies(binding, question):
            continue
        if binding.entry.permission_type is AclPermissionType.DENY:
            return Verdict(allowed=False, rule="MatchingAcl", binding=binding)
        allowing = binding
    if allowing is not None:
        return Verdict(allowed=True, rule="MatchingAcl", binding=allowing)
    if not covering and policy.allow_everyone:
        return Verdict(allowed=True, rule="DefaultAllow", binding=None)
    return Verdict(allowed=False, rule="DefaultDeny", binding=None)


def covers(binding: AclBinding, question: Question) -> bool:
    """Say whether the pattern is about the resource."""
    resource_type, name, pattern_type = binding.pattern
    if resource_type is not question.resource_type:
        return False
    if pattern_type is PatternType.PREFIXED:
        return question.name.startswith(name)
    # The broker skips the literal "*" for longer names that begin with an asterisk.
    everything = name == "*" and not question.name.startswith("*")
    return everything or name == question.name


def applies(binding: AclBinding, question: Question) -> bool:
    """Say whether the entry is about the principal, the host and the operation."""
    principal, host, operation, permission_type = binding.entry
    if principal not in (question.principal, "User:*") or host not in (question.host, "*"):
        return False
    if permission_type is AclPermissionType.ALLOW:
        enough = IMPLIED.get(question.operation, f"{question.operation.name} ALL")
        return operation.name in enough.split()
    return operation in (question.operation, AclOperation.ALL)


def walk(bindings: Iterable[AclBinding], question: Question) -> list[AclBinding]:
    """Return the bindings in the broker's order, the literal ``*`` in its section at the end."""

    def utf16(text: str) -> bytes:
        return text.encode("utf-16-be", "surrogatepass")

    ordered = sorted(
        bindings,
        key=lambda each: (
            each.pattern.pattern_type,
            each.entry.operation,
            utf16(each.entry.principal),
            utf16(each.entry.host),
            each.entry.permission_type,
        ),
    )
    ordered.sort(key=lambda each: utf16(each.pattern.name), reverse=True)
    if question.name.startswith("*"):
        return ordered
    return sorted(ordered, key=lambda each: each.pattern[1:] == ("*", PatternType.LITERAL))


def matches(wanted: AclBindingFilter, binding: AclBinding) -> bool:
    """Say whether a filter asks for a binding: the seven rules, one after the other."""
    (resource_type, name, pattern_type), entry = wanted
    stored = binding.pattern
    if resource_type not in (ResourceType.ANY, stored.resource_type):
        return False
    either = pattern_type in (PatternType.ANY, PatternType.MATCH)
    if not either and pattern_type != stored.pattern_type:
        return False
    if name is not None and pattern_type is PatternType.MATCH:
        if stored.pattern_type is PatternType.LITERAL and stored.name not in (name, "*"):
            return False
        if stored.pattern_type is PatternType.PREFIXED and not name.startswith(stored.name):
            return False
    elif name is not None and name != stored.name:
        return False
    return (
        entry.principal in (None, binding.entry.principal)
        and entry.host in (None, binding.entry.host)
        and entry.operation in (AclOperation.ANY, binding.entry.operation)
        and entry.permission_type in (AclPermissionType.ANY, binding.entry.permission_type)
    )
