"""Questions about many names or clients, and about tasks that need several permissions.

Such a question has a verdict, always, never or sometimes, with an example and the deciding rule of
each answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from doorkeeper.acls.cases import Verdict
from doorkeeper.acls.decision import Question, explain
from doorkeeper.acls.effective_changes import DecisionState, EffectiveChange
from doorkeeper.acls.model import ANY_HOST, AclOperation, ResourceType
from doorkeeper.acls.regions import Extent, single
from doorkeeper.acls.tasks import TASKS, TaskAccess, TaskAnswer, TaskNeed, regions_of
from doorkeeper.acls.words import (
    extent_words,
    names_and_hosts_words,
    noun,
    resource_words,
)
from doorkeeper.cli.acls.effective import requests_record
from doorkeeper.cli.acls.explanations import decision_record, reason_lines
from doorkeeper.cli.acls.printing import rest_lines
from doorkeeper.cli.acls.question_options import check_name, resource_option, take_resource
from doorkeeper.cli.json_records.questions import PrincipalVerdict, VerdictRegion
from doorkeeper.cli.json_records.questions import TaskAnswer as TaskAnswerRecord
from doorkeeper.cli.terminal import paint, printable
from doorkeeper.cli.vocabulary.options import PATTERN_TYPES, named_option, with_options

_PREFIXED: Final = "prefixed"
_OPTIONS: Final = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional_id",
}
_CASES_MAX: Final = 20
_REGIONS_MAX: Final = 10
COLOURS: Final = {Verdict.ALWAYS: "green", Verdict.NEVER: "red", Verdict.SOMETIMES: "yellow"}

need_options = with_options(
    named_option("--task", type=click.Choice(list(TASKS))),
    resource_option,
    named_option(
        "--resource-pattern-type",
        "pattern",
        type=click.Choice(["literal", _PREFIXED], case_sensitive=False),
        choices={word: PATTERN_TYPES[word] for word in ("literal", _PREFIXED)},
        default="literal",
        show_default=True,
    ),
)
"""The options of a task or a resource; ``take_needs`` reads them."""


def take_needs(
    options: dict[str, Any], operation: AclOperation | None, *, names_needed: bool = True
) -> list[TaskNeed]:
    """Return the needs of the options, and take them out of the dictionary.

    Raises:
        click.UsageError: they do not go together.
    """
    task, is_prefixed = options.pop("task"), options.pop("pattern") == _PREFIXED
    if (task is None) == (operation is None):
        raise click.UsageError("give one of --operation and --task")
    if operation is not None:
        kind, name = take_resource(options, operation, is_prefixed=is_prefixed)
        extent = Extent(name) if is_prefixed else single(name)
        return [TaskNeed(operation, kind, extent)]
    named = {kind: options.pop(option) for kind, option in _OPTIONS.items()}
    others = {
        option.replace("_", "-"): options.pop(option)
        for option in ("delegation_token", "user_principal", "cluster")
    }
    if "" in named.values():
        raise click.UsageError("found an empty name; expected: the name of a resource")
    for kind, name in named.items():
        if name is not None:
            check_name(kind, name, is_prefixed=is_prefixed)
    for option, value in others.items():
        if value:
            raise click.UsageError(
                f"--task {task}: found --{option}; allowed: {_words_of(dict(TASKS[task]))}"
            )
    # No request of a task has the cluster's permissions: IDEMPOTENT_WRITE follows from WRITE.
    needed = dict(TASKS[task])
    unneeded = [kind for kind in named if named[kind] is not None and kind not in needed]
    if unneeded:
        raise click.UsageError(
            f"--task {task}: found {_words_of(unneeded)}; allowed: {_words_of(needed)}"
        )
    if names_needed and named[ResourceType.TOPIC] is None:
        raise click.UsageError(f"--task {task}: --topic is missing")
    return [
        TaskNeed(
            does, kind, None if (name := named[kind]) is None else Extent(name, not is_prefixed)
        )
        for kind, does in needed.items()
    ]


def _words_of(kinds: Iterable[ResourceType]) -> str:
    return ", ".join(f"--{_OPTIONS[kind].replace('_', '-')}" for kind in kinds)


def need_words(need: TaskNeed) -> str:
    if need.names is None:
        return f"some {noun(need.resource_type)}: none was named"
    return printable(extent_words(need.resource_type, need.names))


Regions = Mapping[str, Sequence[EffectiveChange]]
"""The regions of principals that are allowed sometimes, see ``regions_of``."""


def regions_of_access(
    state: DecisionState, accesses: Iterable[TaskAccess], host: str, needs: Sequence[TaskNeed]
) -> Regions:
    """Return the regions of those that may do a task sometimes, of all its needs with names."""
    sometimes = [access.principal for access in accesses if access.verdict is Verdict.SOMETIMES]
    regions: dict[str, list[EffectiveChange]] = {principal: [] for principal in sometimes}
    for need in needs:
        if need.names is not None and sometimes:
            of_need = regions_of(*state, sometimes, host, need)
            for principal, changes in of_need.items():
                regions[principal] += changes
    return regions


def region_lines(regions: Sequence[EffectiveChange], *, has_needs: bool) -> Iterator[str]:
    """Yield where a permission is allowed and where it is not; ``has_needs``: of several."""
    for allowed in (True, False):
        chosen = [region for region in regions if region.allowed is allowed]
        word = "allowed" if allowed else "denied"
        for region in chosen[:_REGIONS_MAX]:
            operation = f"{region.operations[0].name} " if has_needs else ""
            yield f"  {word}: {operation}{printable(names_and_hosts_words(region))}"
        if len(chosen) > _REGIONS_MAX:
            yield f"  {word}: and {len(chosen) - _REGIONS_MAX} more; --output json has all"


def lines_of_answer(
    task: TaskAnswer, principal: str, host: str, state: DecisionState
) -> Iterator[str]:
    """Yield the verdict of a task, then that of each need with its cases."""
    origin = "" if host == ANY_HOST else f" from {host}"
    head = f"{task.verdict.name}: {printable(principal)}{origin}"
    yield paint(head, COLOURS[task.verdict], bold=True)
    yield from lines_of_needs(task, principal, host, state)


def lines_of_needs(
    task: TaskAnswer, principal: str, host: str, state: DecisionState
) -> Iterator[str]:
    """Yield the verdict of each need, with its cases."""
    for need, cases, verdict in task.needs:
        yield f"{verdict.value}: {need.operation.name} {need_words(need)}"
        regions = _regions_of_need(state, principal, host, need, verdict)
        yield from region_lines(regions, has_needs=False)
        # The address of all cases is in the first line already.
        shows_host = len({case.question.host for case in cases}) > 1
        for case in cases[:_CASES_MAX]:
            yield from case_lines(state, case.question, shows_host=shows_host)
        yield from rest_lines(len(cases), _CASES_MAX)


def _regions_of_need(
    state: DecisionState, principal: str, host: str, need: TaskNeed, verdict: Verdict
) -> Sequence[EffectiveChange]:
    if verdict is not Verdict.SOMETIMES or need.names is None:
        return ()
    return regions_of(*state, (principal,), host, need)[principal]


def case_lines(state: DecisionState, question: Question, *, shows_host: bool) -> Iterator[str]:
    """Yield an example with its decision and the deciding rule."""
    decision = explain(*state, question)
    word = "allowed" if decision.allowed else "denied"
    origin = f" from {question.host}" if shows_host else ""
    example = printable(resource_words(question.resource_type, question.name))
    return reason_lines(f"  {word}, as {example}{origin}", state, question, decision)


def lines_of_access(access: TaskAccess, regions: Regions, state: DecisionState) -> Iterator[str]:
    """Yield the verdict of a principal, with its regions and an example of each answer."""
    note = "  (super user)" if access.principal in state.policy.super_users else ""
    verdict = paint(access.verdict.value, COLOURS[access.verdict])
    yield f"{printable(access.principal)}  {verdict}{note}"
    yield from region_lines(regions.get(access.principal, ()), has_needs=len(access.allowed) > 1)
    examples = (*access.allowed, *(() if access.denied is None else (access.denied,)))
    shows_host = any(question.host != ANY_HOST for question in examples)
    for question in examples:
        yield from case_lines(state, question, shows_host=shows_host)


def record_of_answer(
    task: TaskAnswer, principal: str, host: str, state: DecisionState
) -> TaskAnswerRecord:
    """Return the verdicts and cases for JSON."""
    return {
        "verdict": task.verdict.value,
        "needs": [
            {
                "operation": need.operation.name,
                "resourceType": need.resource_type.name,
                "name": None if need.names is None else need.names.text,
                "patternType": "LITERAL"
                if need.names is not None and need.names.is_single
                else "PREFIXED",
                "verdict": verdict.value,
                "cases": [
                    {"name": question.name, "host": question.host, **decision_record(decision)}
                    for question, decision in cases
                ],
                "regions": [
                    _region_record(region)
                    for region in _regions_of_need(state, principal, host, need, verdict)
                ],
            }
            for need, cases, verdict in task.needs
        ],
    }


def record_of_access(
    access: TaskAccess, regions: Regions, state: DecisionState
) -> PrincipalVerdict:
    denied = () if access.denied is None else (access.denied,)
    return {
        "principal": access.principal,
        "verdict": access.verdict.value,
        "superUser": access.principal in state.policy.super_users,
        "cases": [
            {
                "operation": question.operation.name,
                "resourceType": question.resource_type.name,
                "name": question.name,
                "host": question.host,
                **decision_record(explain(*state, question)),
            }
            for question in (*access.allowed, *denied)
        ],
        "regions": [_region_record(region) for region in regions.get(access.principal, ())],
    }


def _region_record(region: EffectiveChange) -> VerdictRegion:
    [operation] = region.operations
    return {**requests_record(region), "operation": operation.name}
