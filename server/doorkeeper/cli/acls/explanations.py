"""An explanation as lines, and as a record for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from doorkeeper.acls.decision import Decision, Question, RuleKind
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.explanation import (
    Bearing,
    Considered,
    Explanation,
    Flip,
    apply_change,
    split_size,
)
from doorkeeper.acls.formats.csv import COLUMNS
from doorkeeper.acls.formats.records import AclRecord, records
from doorkeeper.acls.model import (
    ANY_HOST,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
)
from doorkeeper.acls.operations import IMPLIED_BY, IMPLIED_OPERATIONS, effects
from doorkeeper.acls.words import names_words, resource_words
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.command_lines import commands_of, record_of_commands
from doorkeeper.cli.acls.near_misses import near_miss_lines, near_misses_in
from doorkeeper.cli.acls.printing import rest_lines, row
from doorkeeper.cli.json_records.questions import Decision as DecisionRecord
from doorkeeper.cli.json_records.questions import Explanation as ExplanationRecord
from doorkeeper.cli.json_records.questions import NearMiss
from doorkeeper.cli.json_records.questions import Question as QuestionRecord
from doorkeeper.cli.terminal import paint, printable

SHOWN_MAX = 40
"""The number of considered ACLs in the lines; JSON has all."""

_ORDER = {bearing: rank for rank, bearing in enumerate(Bearing)}
_COLOURS = {Bearing.DENIES: "red", Bearing.ALLOWS: "green", Bearing.IMPLIES: "green"}


class Answer(Struct, frozen=True):
    """An explanation, the state that it is about, and the location of the ACLs."""

    explanation: Explanation
    state: DecisionState
    location: Location


def sentence(explanation: Explanation) -> str:
    question = explanation.question
    may = "may" if explanation.decision.allowed else "may not"
    origin = "" if question.host == ANY_HOST else f" from {question.host}"
    resource = printable(resource_words(question.resource_type, question.name))
    return f"{printable(question.principal)} {may} {question.operation.name} {resource}{origin}"


def because(state: DecisionState, question: Question, decision: Decision) -> str:
    if decision.rule is RuleKind.SUPER_USER:
        return f"{printable(question.principal)} is a super user, whom ACLs do not restrict"
    if decision.binding is not None:
        return _because_of(decision.binding, question)
    if state.snapshot.covers(question.resource_type, question.name):
        return "no ACL that covers the resource allows it"
    default = str(state.policy.allow_everyone).lower()
    return f"no ACL covers the resource, and allow.everyone.if.no.acl.found is {default}"


def _because_of(binding: AclBinding, question: Question) -> str:
    held = binding.entry.operation
    if binding.entry.permission_type is AclPermissionType.DENY:
        return "a matching DENY overrides every ALLOW"
    if held is question.operation:
        return "this ACL allows it, and no DENY matches"
    return f"an ALLOW of {held.name} includes {question.operation.name}, and no DENY matches"


def reason_lines(
    head: str, state: DecisionState, question: Question, decision: Decision
) -> Iterator[str]:
    """Yield a line that ends with the reason of a decision, then the ACL that decided, if any."""
    yield f"{head}: {because(state, question, decision)}"
    if decision.binding is not None:
        indentation = len(head) - len(head.lstrip()) + 2
        yield f"{' ' * indentation}{row(decision.binding)}"


def side_effects(answer: Answer) -> list[str]:
    """Return the side effects of the changes that reverse the decision, a sentence each."""
    question, flip = answer.explanation.question, answer.explanation.flip
    resource = printable(resource_words(question.resource_type, question.name))
    effects_ = []
    if answer.state.policy.allow_everyone:
        was_open = not answer.state.snapshot.covers(question.resource_type, question.name)
        after = apply_change(answer.state.snapshot, flip.added, flip.removed)
        # With allow.everyone.if.no.acl.found, the first ACL of a resource closes it, and removing
        # the last one opens it, whatever the ACL says.
        is_open = not after.covers(question.resource_type, question.name)
        if was_open and not is_open:
            effects_.append(
                f"{resource} has no ACL yet, so every operation is allowed to all principals; with"
                " the first ACL, other principals and operations are denied"
            )
        if is_open and not was_open:
            effects_.append(
                f"{resource} has no other ACL: without it, every operation is allowed to all"
                " principals"
            )
    effects_ += [
        text for binding in flip.removed if (text := _reach(binding, question)) is not None
    ]
    effects_ += [
        _exception(binding, question) for binding in flip.removed if _is_wide_deny(binding)
    ]
    return effects_


def _is_wide_deny(binding: AclBinding) -> bool:
    pattern, entry = binding
    is_wide = pattern.pattern_type is PatternType.PREFIXED or pattern.name == WILDCARD
    return entry.permission_type is AclPermissionType.DENY and is_wide


def _exception(denying: AclBinding, question: Question) -> str:
    """Return what it takes to except a name from a DENY of many."""
    size = split_size(denying, question.name)
    instead = "and no set of DENYs can replace it, because its names may contain any character"
    if size is not None:
        instead = f"{size} DENYs on all other names and prefixes could replace it"
    return (
        f"no ACL can exempt {printable(repr(question.name))} from that DENY, because a DENY"
        f" overrides every ALLOW; {instead}. Deny narrower prefixes, or choose another name for"
        " the exception"
    )


def _reach(binding: AclBinding, question: Question) -> str | None:
    """Return the other effects of a binding; None if the question covers all of them."""
    pattern, entry = binding
    # Implied operations too: an ALLOW of Read also allows Describe.
    others = [
        operation.name for operation in effects(binding) if operation is not question.operation
    ]
    parts = [", ".join(others)] if others else []
    if pattern.pattern_type is PatternType.PREFIXED or pattern.name == WILDCARD:
        parts.append(printable(names_words(binding)))
    if entry.principal == WILDCARD_PRINCIPAL != question.principal:
        parts.append("all principals")
    if entry.host == WILDCARD != question.host:
        parts.append("all hosts")
    if not parts:
        return None
    does = "allows" if entry.permission_type is AclPermissionType.ALLOW else "denies"
    return f"{row(binding)} also {does}: {'; '.join(parts)}"


def implying_operations(operation: AclOperation) -> list[AclOperation]:
    """Return the other operations whose ALLOW includes this one; ALL is the first."""
    return [AclOperation.ALL, *sorted(IMPLIED_BY.get(operation, frozenset()) - {operation})]


# --- as lines


def lines_of(answer: Answer) -> list[str]:
    explanation = answer.explanation
    question, decision, flip = explanation.question, explanation.decision, explanation.flip
    head = paint("ALLOWED", "green", bold=True)
    if not decision.allowed:
        head = paint("DENIED", "red", bold=True)
    lines = [f"{head}: {sentence(explanation)}"]
    rule = f"rule: {decision.rule.value}"
    lines += reason_lines(rule, answer.state, question, decision)
    lines.append(f"implied: {_implied_line(question.operation)}")
    lines += _considered_lines(explanation)
    return [*lines, *near_miss_lines(_near_misses(answer)), *_flip_lines(answer, flip)]


def _near_misses(answer: Answer) -> list[NearMiss]:
    return near_misses_in(answer.state, answer.explanation.question.principal)


def _implied_line(operation: AclOperation) -> str:
    # Kafka implies Describe from an ALLOW only: a DENY of Read does not deny Describe.
    includes = " or ".join(implying.name for implying in implying_operations(operation))
    also = ", ".join(sorted(implied.name for implied in IMPLIED_OPERATIONS[operation]))
    more = f"; one of {operation.name} includes {also}" if also else ""
    name = operation.name
    return f"an ALLOW of {includes} includes {name}{more}; only a DENY of ALL includes {name}"


def by_bearing(considered: Iterable[Considered]) -> list[Considered]:
    """Return the considered ACLs, those that bear on the question first."""
    return sorted(considered, key=lambda acl: _ORDER[acl.bearing])


def _considered_lines(explanation: Explanation) -> list[str]:
    if not explanation.considered:
        return []
    # Thousands of ACLs may cover a resource, and those of other principals are the most.
    shown = by_bearing(explanation.considered)[:SHOWN_MAX]
    width = max(len(row(considered.binding)) for considered in shown)
    lines = [f"considered ({COLUMNS}):"]
    for binding, bearing in shown:
        sign = ">" if binding == explanation.decision.binding else " "
        text = f"{sign} {row(binding):{width}}  {bearing.value}"
        colour = _COLOURS.get(bearing)
        lines.append(text if colour is None else paint(text, colour))
    return [*lines, *rest_lines(len(explanation.considered), SHOWN_MAX)]


def _flip_lines(answer: Answer, flip: Flip) -> list[str]:
    if not flip.added and not flip.removed:
        return ["to reverse the decision: remove the principal from super.users; no ACL can do it"]
    lines = ["to reverse the decision:"]
    lines += [f"  - {row(binding)}" for binding in flip.removed]
    lines += [f"  + {row(binding)}" for binding in flip.added]
    kafkas, ours = commands_of(flip.added, flip.removed, answer.location)
    lines += [f"  $ {line}" for line in (*kafkas, *ours)]
    if answer.location.is_past:
        lines.append(
            "  note: these are past ACLs, which cannot be changed; omit --at for the current ones"
        )
    return lines + [f"  note: {effect}" for effect in side_effects(answer)]


# --- as JSON


def record_of(answer: Answer) -> ExplanationRecord:
    explanation = answer.explanation
    question, decision, flip = explanation.question, explanation.decision, explanation.flip
    return {
        "question": question_record(question),
        "allowed": decision.allowed,
        "rule": decision.rule.value,
        "because": because(answer.state, question, decision),
        "binding": None if decision.binding is None else one_record(decision.binding),
        "impliedBy": [implying.name for implying in implying_operations(question.operation)],
        "considered": [
            {
                **one_record(considered.binding),
                "bearing": considered.bearing.name,
                "says": considered.bearing.value,
            }
            for considered in by_bearing(explanation.considered)
        ],
        "nearMisses": _near_misses(answer),
        "flip": {
            **record_of_commands(flip.added, flip.removed, answer.location),
            "sideEffects": side_effects(answer),
        },
    }


def question_record(question: Question) -> QuestionRecord:
    return {
        "principal": question.principal,
        "host": question.host,
        "operation": question.operation.name,
        "resourceType": question.resource_type.name,
        "name": question.name,
    }


def one_record(binding: AclBinding) -> AclRecord:
    """Return the record of a binding, as in a set of ACLs."""
    return next(records((binding,)))


def decision_record(decision: Decision) -> DecisionRecord:
    binding = decision.binding
    return {
        "allowed": decision.allowed,
        "rule": decision.rule.value,
        "binding": None if binding is None else one_record(binding),
    }
