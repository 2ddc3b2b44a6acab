"""Assertions about ACLs, and the questions whose answers break them.

    never                   no principal of these is allowed any of it
    always                  each principal of these is allowed all of it
    only                    no other principal is allowed any of it
    no more than before     nothing of it is allowed that was not allowed before

``User:*`` stands for every principal. Super users are allowed everything without ACLs: only a rule
that names them, or that has none of these words, is about them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.acls.access import unnamed_principal
from doorkeeper.acls.cases import Space, answer
from doorkeeper.acls.effective_changes import ComparisonScope, DecisionState, effective_changes
from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.acls.regions import CLUSTER
from doorkeeper.acls.tasks import TaskNeed, task_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acls.decision import Question
    from doorkeeper.acls.formats.documents import Path
    from doorkeeper.acls.regions import Extent


class AssertionKind(Enum):
    """The kind of an assertion."""

    NEVER = "never"
    ALWAYS = "always"
    ONLY = "only"
    NO_MORE = "no more than before"


class Assertion(Struct, frozen=True):
    """A rule about operations of some principals: all names of an extent, all clients of a host.

    ``principals`` is empty for all, with NO_MORE. ``operations`` are those of each type.
    """

    kind: AssertionKind
    principals: tuple[str, ...]
    operations: tuple[tuple[ResourceType, tuple[AclOperation, ...]], ...]
    names: Extent
    host: str
    reason: str | None
    path: Path = ()

    def names_of(self, kind: ResourceType) -> Extent:
        """Return the names that a type has; the cluster has a single one."""
        return CLUSTER if kind is ResourceType.CLUSTER else self.names


def counterexamples(
    state: DecisionState, rule: Assertion, before: DecisionState | None = None
) -> list[Question]:
    """Return a question that breaks the rule for each principal and operation that does.

    ``before`` is needed for NO_MORE.
    """
    if rule.kind is AssertionKind.NO_MORE:
        assert before is not None
        # Of each region the first operation stands for the others.
        return [
            example._replace(operation=operations[0])
            for example, operations in _changes(state, rule, before)
        ]
    if rule.kind is AssertionKind.ALWAYS:
        return list(_denied_questions(state, rule))
    return list(_allowed_questions(state, rule))


def _allowed_questions(state: DecisionState, rule: Assertion) -> Iterator[Question]:
    """Yield allowed questions of principals that a rule is against."""
    is_only = rule.kind is AssertionKind.ONLY
    for kind, operations in rule.operations:
        for operation in operations:
            if not is_only and WILDCARD_PRINCIPAL not in rule.principals:
                for principal in rule.principals:
                    space = Space(principal, rule.host, operation, kind, rule.names_of(kind))
                    if (allowed := answer(*state, space).allowed) is not None:
                        yield allowed
                continue
            needs = [TaskNeed(operation, kind, rule.names_of(kind))]
            spared = state.policy.super_users.union(rule.principals if is_only else ())
            if WILDCARD_PRINCIPAL in spared:
                continue
            for access in task_access(*state, rule.host, needs):
                [question] = access.allowed
                # One that no ACL names stands for the others without ACLs.
                is_other = access.principal == WILDCARD_PRINCIPAL
                if is_other or question.principal == access.principal not in spared:
                    yield question


def _denied_questions(state: DecisionState, rule: Assertion) -> Iterator[Question]:
    for kind, operations in rule.operations:
        principals = _principals(state, rule.principals, kind)
        for operation in operations:
            for principal in principals:
                space = Space(principal, rule.host, operation, kind, rule.names_of(kind))
                if (denied := answer(*state, space).denied) is not None:
                    yield denied


def _principals(state: DecisionState, principals: Iterable[str], kind: ResourceType) -> list[str]:
    """Return the principals that a rule is about, for each that no ACL names one."""
    if WILDCARD_PRINCIPAL not in principals:
        return sorted(principals)
    named = set(state.snapshot.types[kind].principals) | set(state.policy.super_users)
    return [unnamed_principal(named), *sorted(named - {WILDCARD_PRINCIPAL})]


def newly_broken_by(state: DecisionState, rule: Assertion, before: DecisionState) -> list[Question]:
    """Return the questions that break the rule and did not before: one for each new breach.

    A principal and operation of ``counterexamples`` that are not among them broke it before too.
    """
    return [
        example._replace(operation=operation)
        for example, operations in _changes(state, rule, before)
        for operation in operations
    ]


def _changes(
    state: DecisionState, rule: Assertion, before: DecisionState
) -> Iterator[tuple[Question, list[AclOperation]]]:
    """Yield an example of each region that begins to break the rule, and its operations there."""
    is_no_more, is_only = (
        rule.kind is kind for kind in (AssertionKind.NO_MORE, AssertionKind.ONLY)
    )
    is_everybody = not is_no_more and WILDCARD_PRINCIPAL in rule.principals
    if is_only and is_everybody:
        return
    operations_by_type = dict(rule.operations)
    principals = None if is_only or is_everybody else frozenset(rule.principals) or None
    scope = ComparisonScope(tuple(operations_by_type), rule.names, rule.host, principals)
    for change in effective_changes(before, state, scope):
        if change.allowed is (rule.kind is AssertionKind.ALWAYS):
            continue
        rule_operations = operations_by_type[change.resource_type]
        operations = [operation for operation in change.operations if operation in rule_operations]
        if operations and not (is_only and change.principal in rule.principals):
            yield change.example, operations
