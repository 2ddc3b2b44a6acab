"""Questions about all names with a prefix, and about tasks that need several permissions.

Of a resource that the task needs and no option names, the client may choose the name: one that is
allowed is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from doorkeeper.acl.decision import Question
from doorkeeper.acl.explanation import explanation
from doorkeeper.acl.formats.records import records
from doorkeeper.acl.model import AclOperation, ResourceType
from doorkeeper.acl.name_cases import NamesVerdict, name_cases, verdict_of
from doorkeeper.cli.acls.explanations import Answer, because
from doorkeeper.cli.acls.printing import resource_words, row
from doorkeeper.cli.acls.question_options import take_resource
from doorkeeper.cli.terminal import paint, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.name_cases import NameCase
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.cli.acls.addresses import Location

_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP
_ID = ResourceType.TRANSACTIONAL_ID
TASKS: Final = {
    "produce": ((_TOPIC, AclOperation.WRITE),),
    "produce-transactional": ((_TOPIC, AclOperation.WRITE), (_ID, AclOperation.WRITE)),
    "consume": ((_TOPIC, AclOperation.READ), (_GROUP, AclOperation.READ)),
}
"""The permissions that each task needs; the first resource is the one that has to be named."""
_OPTIONS: Final = {_TOPIC: "topic", _GROUP: "group", _ID: "transactional_id"}

_CASES_MAX: Final = 20
_COLOURS: Final = {
    NamesVerdict.ALWAYS: "green",
    NamesVerdict.NEVER: "red",
    NamesVerdict.SOMETIMES: "yellow",
}

task_option = click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    help="Ask for all permissions that a task needs, in place of --operation.",
)
pattern_option = click.option(
    "--resource-pattern-type",
    "pattern",
    type=click.Choice(["literal", "prefixed"], case_sensitive=False),
    default="literal",
    show_default=True,
    help="With prefixed, ask about all names that begin with NAME: always, never, or sometimes.",
)


class TaskNeed(NamedTuple):
    """A permission that is needed: for one name, all names with a prefix, or a name to choose."""

    question: Question
    is_prefixed: bool
    is_chosen: bool

    def words(self) -> str:
        """Return the resource in words."""
        kind = resource_words(self.question.resource_type, "").strip()
        if self.is_chosen:
            return f"a {kind} of the client's choice"
        if self.is_prefixed:
            return f"{kind} names that begin with {printable(self.question.name)!r}"
        return resource_words(self.question.resource_type, self.question.name)


class NeedAnswer(NamedTuple):
    """The cases of a need, and its verdict."""

    need: TaskNeed
    cases: Sequence[NameCase]
    verdict: NamesVerdict


def take_needs(
    options: dict[str, Any], principal: str, host: str, operation: AclOperation | None
) -> list[TaskNeed]:
    """Return what the options ask for, and take them out of the dictionary.

    Raises:
        click.UsageError: they do not go together.

    """
    task, is_prefixed = options.pop("task"), options.pop("pattern") == "prefixed"
    if (task is None) == (operation is None):
        raise click.UsageError("give one of --operation and --task")
    if operation is not None:
        kind, name = take_resource(options, operation)
        return [TaskNeed(Question(principal, host, operation, kind, name), is_prefixed, False)]
    # No request of a task has the cluster's permissions: IDEMPOTENT_WRITE follows from WRITE.
    needed = dict(TASKS[task])
    named = {kind: options.pop(option) for kind, option in _OPTIONS.items()}
    others = [options.pop(each) for each in ("delegation_token", "user_principal", "cluster")]
    unneeded = [each for each in named if named[each] is not None and each not in needed]
    if any(others) or unneeded or named[_TOPIC] is None:
        words = ", ".join(f"--{_OPTIONS[each].replace('_', '-')}" for each in needed)
        raise click.UsageError(f"--task {task} takes {words}, of which --topic is needed")
    if "" in named.values():
        raise click.UsageError("a resource has a name; found an empty one")
    return [
        TaskNeed(
            Question(principal, host, does, kind, named[kind] or ""),
            is_prefixed,
            named[kind] is None,
        )
        for kind, does in needed.items()
    ]


def findings_of(policy: Policy, snapshot: Snapshot, needs: Sequence[TaskNeed]) -> list[NeedAnswer]:
    """Return the cases and the verdict of each need."""
    found = []
    for need in needs:
        cases = name_cases(policy, snapshot, need.question)
        if not need.is_chosen and not need.is_prefixed:
            name = need.question.name
            decision = explanation(policy, snapshot, need.question).decision
            cases = [cases[0]._replace(name=name, decision=decision)]
        verdict = verdict_of(cases)
        if need.is_chosen:
            # The client chooses an allowed name, if there is one.
            cases = cases[:1]
            verdict = verdict_of(cases)
        found.append(NeedAnswer(need, cases, verdict))
    return found


def whole_verdict(findings: Sequence[NeedAnswer]) -> NamesVerdict:
    """Return the verdict of all needs together."""
    verdicts = [each.verdict for each in findings]
    if NamesVerdict.NEVER in verdicts:
        return NamesVerdict.NEVER
    return NamesVerdict.SOMETIMES if NamesVerdict.SOMETIMES in verdicts else NamesVerdict.ALWAYS


def lines_of_findings(
    findings: Sequence[NeedAnswer], policy: Policy, snapshot: Snapshot, location: Location
) -> Iterator[str]:
    """Yield the verdict of all needs, then that of each one with its cases."""
    whole = whole_verdict(findings)
    first = findings[0].need.question
    where = "" if first.host == "*" else f" from {first.host}"
    yield paint(f"{whole.name}: {printable(first.principal)}{where}", _COLOURS[whole], bold=True)
    for need, cases, verdict in findings:
        yield f"{verdict.value}: {need.question.operation.name} {need.words()}"
        for case in cases[:_CASES_MAX]:
            question = need.question._replace(name=case.name)
            answer = Answer(explanation(policy, snapshot, question), policy, snapshot, location)
            word = "allowed" if case.decision.allowed else "denied"
            example = resource_words(question.resource_type, case.name)
            yield f"  {word}, as {example}: {because(answer)}"
            if case.decision.binding is not None:
                yield f"    {row(case.decision.binding)}"
        if len(cases) > _CASES_MAX:
            yield f"  and {len(cases) - _CASES_MAX} more; --output json has all"


def record_of_findings(findings: Sequence[NeedAnswer]) -> dict[str, Any]:
    """Return the verdicts and cases for JSON."""
    return {
        "verdict": whole_verdict(findings).value,
        "needs": [
            {
                "operation": need.question.operation.name,
                "resourceType": need.question.resource_type.name,
                "name": None if need.is_chosen else need.question.name,
                "patternType": "PREFIXED" if need.is_prefixed else "LITERAL",
                "verdict": verdict.value,
                "cases": [
                    {
                        "name": case.name,
                        "allowed": case.decision.allowed,
                        "rule": case.decision.rule.value,
                        "binding": None
                        if case.decision.binding is None
                        else next(records([case.decision.binding])),
                    }
                    for case in cases
                ],
            }
            for need, cases, verdict in findings
        ],
    }
