"""An explanation as lines for people, and as a record for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.acl.decision import RuleKind
from doorkeeper.acl.explaining import ANY_HOST, Bearing, changed
from doorkeeper.acl.formats.records import records
from doorkeeper.acl.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    PatternType,
)
from doorkeeper.acl.operations import IMPLIED_BY, IMPLIED_OPERATIONS, effects
from doorkeeper.cli.acls.command_lines import commands_of
from doorkeeper.cli.acls.texts import (
    COLUMNS,
    names_words,
    resource_words,
    row,
)
from doorkeeper.cli.terminal import painted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.decision import Policy, Question
    from doorkeeper.acl.explaining import Considered, Explanation, Flip
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.cli.acls.sources import Source

SHOWN_MAX = 40
"""How many of the considered ACLs people are shown; JSON has all."""

_ORDER = {each: place for place, each in enumerate(Bearing)}
_COLOURS = {Bearing.DENIES: "red", Bearing.ALLOWS: "green", Bearing.IMPLIES: "green"}


class Told(NamedTuple):
    """An explanation, the state that it is about, and where that is changed."""

    explanation: Explanation
    policy: Policy
    snapshot: Snapshot
    source: Source


def sentence(explanation: Explanation) -> str:
    """Return the answer as a sentence."""
    question = explanation.question
    may = "may" if explanation.decision.allowed else "may not"
    where = "" if question.host == ANY_HOST else f" from {question.host}"
    what = resource_words(question.resource_type, question.name)
    return f"{printable(question.principal)} {may} {question.operation.name} {what}{where}"


def because(told: Told) -> str:
    """Return why the answer is as it is."""
    question, decision, considered, _ = told.explanation
    if decision.rule is RuleKind.SUPER_USER:
        return f"{printable(question.principal)} is a super user, for whom ACLs do not count"
    if decision.binding is not None:
        return _because_of(decision.binding, question)
    if considered:
        return "none of the ACLs that cover the resource allows it"
    default = str(told.policy.allow_everyone).lower()
    return f"no ACL covers the resource, and allow.everyone.if.no.acl.found is {default}"


def _because_of(binding: AclBinding, question: Question) -> str:
    held = binding.entry.operation
    if binding.entry.permission_type is AclPermissionType.DENY:
        return "a DENY that matches beats every ALLOW"
    if held is question.operation:
        return "it allows it, and no DENY matches"
    return f"an ALLOW of {held.name} includes {question.operation.name}, and no DENY matches"


def side_effects(told: Told) -> list[str]:
    """Return what else the changes that turn the answer would do, a sentence each."""
    question, _, _, flip = told.explanation
    what = resource_words(question.resource_type, question.name)
    found = []
    if told.policy.allow_everyone:
        was_open = not told.snapshot.covers(question.resource_type, question.name)
        after = changed(told.snapshot, flip.added, flip.removed)
        is_open = not after.covers(question.resource_type, question.name)
        if was_open and not is_open:
            found.append(
                f"{what} has no ACL yet, so everybody may do everything there; the first one closes"
                " it for everybody else, and for other operations"
            )
        if is_open and not was_open:
            found.append(f"{what} has no other ACL: everybody may do everything there afterwards")
    found += [text for each in flip.removed if (text := _reach(each, question)) is not None]
    return found


def _reach(binding: AclBinding, question: Question) -> str | None:
    """Return what else a binding is about; None where the question is all of it."""
    pattern, entry = binding
    others = [each.name for each in effects(binding) if each is not question.operation]
    parts = [", ".join(others)] if others else []
    if pattern.pattern_type is PatternType.PREFIXED or pattern.name == WILDCARD:
        parts.append(names_words(binding))
    if entry.principal == WILDCARD_PRINCIPAL != question.principal:
        parts.append("everybody")
    if entry.host == WILDCARD != question.host:
        parts.append("every address")
    if not parts:
        return None
    does = "allows" if entry.permission_type is AclPermissionType.ALLOW else "denies"
    return f"{row(binding)} {does} more than was asked about: {'; '.join(parts)}"


def implied_by(operation: AclOperation) -> list[AclOperation]:
    """Return the other operations whose ALLOW includes this one, ALL too."""
    return [AclOperation.ALL, *sorted(IMPLIED_BY.get(operation, frozenset()) - {operation})]


# --- for people


def lines_of(told: Told) -> list[str]:
    """Return an explanation as lines."""
    question, decision, _, flip = told.explanation
    head = painted("ALLOWED", "green", bold=True)
    if not decision.allowed:
        head = painted("DENIED", "red", bold=True)
    lines = [f"{head}: {sentence(told.explanation)}"]
    lines.append(f"rule: {decision.rule.value}: {because(told)}")
    if decision.binding is not None:
        lines.append(f"  {row(decision.binding)}")
    lines.append(f"implied: {_implied(question.operation)}")
    return [*lines, *_considered(told.explanation), *_flip(told, flip)]


def _implied(operation: AclOperation) -> str:
    includes = " or ".join(each.name for each in implied_by(operation))
    also = ", ".join(sorted(each.name for each in IMPLIED_OPERATIONS[operation]))
    more = f"; one of {operation.name} includes {also}" if also else ""
    return f"an ALLOW of {includes} includes {operation.name}{more}; of the DENYs, only ALL does"


def by_bearing(considered: Iterable[Considered]) -> list[Considered]:
    """Return what was considered, what has to do with the question first."""
    return sorted(considered, key=lambda each: _ORDER[each.bearing])


def _considered(explanation: Explanation) -> list[str]:
    if not explanation.considered:
        return []
    shown = by_bearing(explanation.considered)[:SHOWN_MAX]
    width = max(len(row(each.binding)) for each in shown)
    lines = [f"considered ({COLUMNS}):"]
    for binding, bearing in shown:
        sign = ">" if binding == explanation.decision.binding else " "
        text = f"{sign} {row(binding):{width}}  {bearing.value}"
        colour = _COLOURS.get(bearing)
        lines.append(text if colour is None else painted(text, colour))
    more = len(explanation.considered) - len(shown)
    if more:
        lines.append(f"  and {more} more; --output json has all")
    return lines


def _flip(told: Told, flip: Flip) -> list[str]:
    if not flip.added and not flip.removed:
        return ["to turn it round: take the principal out of the super users; no ACL does"]
    lines = ["to turn it round:"]
    lines += [f"  - {row(each)}" for each in flip.removed]
    lines += [f"  + {row(each)}" for each in flip.added]
    kafkas, ours = commands_of(flip.added, flip.removed, told.source.words)
    lines += [f"  $ {each}" for each in (*kafkas, *ours)]
    return lines + [f"  mind: {each}" for each in side_effects(told)]


# --- for JSON


def record_of(told: Told) -> dict[str, Any]:
    """Return an explanation as a record."""
    question, decision, considered, flip = told.explanation
    kafkas, ours = commands_of(flip.added, flip.removed, told.source.words)
    return {
        "question": {
            "principal": question.principal,
            "host": question.host,
            "operation": question.operation.name,
            "resourceType": question.resource_type.name,
            "name": question.name,
        },
        "allowed": decision.allowed,
        "rule": decision.rule.value,
        "because": because(told),
        "binding": None if decision.binding is None else one_record(decision.binding),
        "impliedBy": [each.name for each in implied_by(question.operation)],
        "considered": [
            {**one_record(each.binding), "bearing": each.bearing.name, "says": each.bearing.value}
            for each in by_bearing(considered)
        ],
        "flip": {
            "add": list(records(flip.added)),
            "remove": list(records(flip.removed)),
            "kafkaAcls": kafkas,
            "doorkeeper": ours,
            "sideEffects": side_effects(told),
        },
    }


def one_record(binding: AclBinding) -> dict[str, str]:
    """Return the record of a binding, as in a set of ACLs."""
    return next(records((binding,)))
