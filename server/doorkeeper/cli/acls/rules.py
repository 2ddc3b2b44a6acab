"""Rules about ACLs on the command line: read from a file, checked, and printed.

broken: rules.yaml, line 4: only User:team-pay may READ topic names that begin with 'pii-'
User:bob may READ topic pii-x from 192.0.2.1: this ACL allows it, and no DENY matches
User:bob,TOPIC,PREFIXED,pii-,READ,ALLOW,*
1 rules: 0 hold, 1 broken
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from doorkeeper.acls.assertions import (
    Assertion,
    AssertionKind,
    counterexamples,
    newly_broken_by,
)
from doorkeeper.acls.decision import Question, explain
from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.formats.assertions import read_assertions
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import WILDCARD, WILDCARD_PRINCIPAL
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.regions import ALL_NAMES
from doorkeeper.acls.words import extent_words, resource_words
from doorkeeper.cli.acls.explanations import decision_record, question_record, reason_lines
from doorkeeper.cli.acls.printing import code_block, rest_lines
from doorkeeper.cli.files import read_text
from doorkeeper.cli.json_records.questions import DecidedQuestion
from doorkeeper.cli.json_records.questions import Rule as RuleRecord
from doorkeeper.cli.terminal import fail, paint, printable
from doorkeeper.cli.vocabulary.progress import progress

_SHOWN_MAX: Final = 10
"""The number of counterexamples of a rule in lines; JSON has all."""


class Rules(Struct, frozen=True):
    """The rules of a file, each with its line."""

    path: Path
    rules: Sequence[tuple[int, Assertion]]

    def need_past(self, option: str) -> None:
        """Refuse rules that compare with the past, where there is none.

        Raises:
            click.UsageError: there is such a rule; ``option`` names the past.
        """
        for line, rule in self.rules:
            if rule.kind is AssertionKind.NO_MORE:
                word = rule.kind.value
                raise click.UsageError(f"{self.path}, line {line}: {word} requires {option}")

    def check(self, now: DecisionState, past: DecisionState | None) -> RuleChecks:
        """Return the questions that break each rule; see ``need_past`` for a past of None."""
        checked = []
        with progress("checking rules") as shown:
            for line, rule in self.rules:
                broken_by = counterexamples(now, rule, past)
                newly = newly_broken_by(now, rule, past) if broken_by and past else None
                checked.append(Checked(line, rule, broken_by, newly))
                shown.count(len(checked), len(self.rules))
        return RuleChecks(self.path, checked, now)


class Checked(Struct, frozen=True):
    """A rule, its place in the file, and the questions that break it.

    ``newly`` are those that did not before; None where there is no past, or nothing breaks it.
    """

    line: int
    rule: Assertion
    broken_by: Sequence[Question]
    newly: Sequence[Question] | None


class RuleChecks(Struct, frozen=True):
    """The checked rules of a file, and the state that they were checked on."""

    path: Path
    checked: Sequence[Checked]
    state: DecisionState

    @property
    def broken(self) -> int:
        return sum(bool(checked.broken_by) for checked in self.checked)

    def summary(self) -> str:
        holding = len(self.checked) - self.broken
        return f"{len(self.checked)} rules: {holding} hold, {self.broken} broken"

    def lines(self) -> Iterator[str]:
        """Yield a line for each rule, and counterexamples of the broken ones."""
        for checked in self.checked:
            yield from _lines(self.path, checked, self.state)

    def markdown(self) -> Iterator[str]:
        """Yield the numbers, and a block of the broken rules."""
        yield f"**{self.summary()}**"
        broken = (checked for checked in self.checked if checked.broken_by)
        lines = [line for checked in broken for line in _lines(self.path, checked, self.state)]
        if lines:
            yield from ("", *code_block(lines, "text"))

    def record(self) -> list[RuleRecord]:
        return [_record(checked, self.state) for checked in self.checked]


def read_rules(path: Path) -> Rules:
    """Return the rules of a file; an error ends the process."""
    text = read_text(path)
    try:
        return Rules(path, read_assertions(text))
    except FormatError as error:
        fail([f"{path}: {error}"])


def _lines(path: Path, checked: Checked, state: DecisionState) -> Iterator[str]:
    word = paint("broken", "red", bold=True) if checked.broken_by else paint("holds", "green")
    yield f"{word}: {printable(str(path))}, line {checked.line}: {rule_words(checked.rule)}"
    if checked.newly is not None and not checked.newly:
        yield "  broken before the change too, and by nothing new"
    if checked.broken_by and checked.rule.reason is not None:
        yield f"  reason: {printable(checked.rule.reason)}"
    for question in checked.broken_by[:_SHOWN_MAX]:
        yield from _counterexample(question, state)
    yield from rest_lines(len(checked.broken_by), _SHOWN_MAX)


def _counterexample(question: Question, state: DecisionState) -> Iterator[str]:
    decision = explain(*state, question)
    may = "may" if decision.allowed else "may not"
    resource = printable(resource_words(question.resource_type, question.name))
    principal = printable(question.principal)
    head = f"  {principal} {may} {question.operation.name} {resource} from {question.host}"
    return reason_lines(head, state, question, decision)


def _record(checked: Checked, state: DecisionState) -> RuleRecord:
    rule = checked.rule
    return {
        "rule": rule.kind.value,
        "line": checked.line,
        "words": rule_words(rule),
        "reason": rule.reason,
        "holds": not checked.broken_by,
        "counterexamples": [_question_record(question, state) for question in checked.broken_by],
        "newlyBrokenBy": None
        if checked.newly is None
        else [_question_record(question, state) for question in checked.newly],
    }


def _question_record(question: Question, state: DecisionState) -> DecidedQuestion:
    return {**question_record(question), **decision_record(explain(*state, question))}


def rule_words(rule: Assertion) -> str:
    principals = ", ".join(
        "every principal" if principal == WILDCARD_PRINCIPAL else printable(principal)
        for principal in rule.principals
    )
    origin = "" if rule.host == WILDCARD else f", from {rule.host}"
    permissions = f"{_permissions(rule)}{origin}"
    if rule.kind is AssertionKind.NO_MORE:
        of_principals = f" of {principals}" if principals else ""
        return f"no more than before{of_principals}: {permissions}"
    if rule.kind is AssertionKind.ONLY:
        return f"only {principals} may {permissions}"
    if rule.kind is AssertionKind.NEVER and WILDCARD_PRINCIPAL in rule.principals:
        return f"no principal may {permissions}"
    return f"{principals} may {rule.kind.value} {permissions}"


def _permissions(rule: Assertion) -> str:
    if len(rule.operations) == len(SUPPORTED_OPERATIONS) and rule.names == ALL_NAMES:
        allowed = {operation.name for _, operations in rule.operations for operation in operations}
        whole = {
            operation.name
            for operations in SUPPORTED_OPERATIONS.values()
            for operation in operations
        }
        return "everything" if allowed == whole else ", ".join(sorted(allowed))
    parts = []
    for kind, operations in rule.operations:
        is_all = operations == SUPPORTED_OPERATIONS[kind]
        names = printable(extent_words(kind, rule.names))
        words = (
            "do anything with" if is_all else ", ".join(operation.name for operation in operations)
        )
        parts.append(f"{words} {names}")
    return "; ".join(parts)
