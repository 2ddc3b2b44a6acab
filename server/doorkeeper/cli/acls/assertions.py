"""``doorkeeper acls assert``: checks rules about ACLs; a broken one has counterexamples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from doorkeeper.acl.assertions import Assertion, AssertionKind, counterexamples
from doorkeeper.acl.decision import explain
from doorkeeper.acl.effective_changes import DecisionState
from doorkeeper.acl.formats.assertions import read_assertions
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import WILDCARD, WILDCARD_PRINCIPAL, ResourceType
from doorkeeper.acl.operations import SUPPORTED_OPERATIONS
from doorkeeper.acl.regions import ALL_NAMES
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.explanations import because, decision_record
from doorkeeper.cli.acls.plan_options import plan_output_option
from doorkeeper.cli.acls.printing import code_block, extent_words, resource_words, row
from doorkeeper.cli.acls.questions import POLICY_HELP, snapshot_of, state_options, take_state
from doorkeeper.cli.acls.sets import read_contents
from doorkeeper.cli.addresses import address, complete_address
from doorkeeper.cli.terminal import fail, paint, printable, show, show_json
from doorkeeper.repositories.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.acl.decision import Question
    from doorkeeper.cli.acls.questions import AclState
    from doorkeeper.config.properties import PropertiesFile
    from doorkeeper.repositories.addresses import Address

BROKEN: Final = 3
"""The status of a rule that does not hold."""

_SHOWN_MAX: Final = 10
"""The number of counterexamples of a rule in lines; JSON has all."""


class Checked(NamedTuple):
    """A rule, its place in the file, and the questions that break it."""

    line: int
    rule: Assertion
    broken_by: Sequence[Question]


@click.command(
    name="assert",
    epilog=f"""
A rule is never, always, only, or no more than before, which compares with the ACLs of --before.
{POLICY_HELP}
\b
Exit statuses: 0 all rules hold; 1 failed, with the reason on stderr; 2 wrong usage;
3 a rule is broken; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls assert rules.yaml teams/
  doorkeeper acls assert rules.yaml kafka://localhost:9092 --super-users User:admin
  doorkeeper acls assert rules.yaml after.yaml --before before.yaml --output markdown
""",
)
@click.argument("rules", metavar="RULES", type=click.Path(path_type=Path))
@click.option(
    "--before",
    metavar="ADDRESS",
    type=address,
    shell_complete=complete_address,
    help="The ACLs with which rules of 'no more than before' compare.",
)
@state_options
@plan_output_option
def assert_(rules: Path, before: Address | None, output: str, **options: Any) -> None:  # noqa: ANN401  those of the state
    """Check the rules of a file; of a broken one, show a counterexample and the deciding ACL."""
    asserted = _read(rules)
    command_config = options["command_config"]
    state = take_state(options)
    now = DecisionState(state.policy.policy, state.snapshot)
    past = None if before is None else _state_of(before, command_config, state)
    for line, rule in asserted:
        if rule.kind is AssertionKind.NO_MORE and past is None:
            raise click.UsageError(
                f"{rules}, line {line}: {rule.kind.value} needs --before ADDRESS"
            )
    checked = [Checked(line, rule, counterexamples(now, rule, past)) for line, rule in asserted]
    if output == "json":
        show_json({"rules": [_record(each, now) for each in checked], **state.record()})
    elif output == "markdown":
        show(_markdown(rules, checked, now))
    else:
        for each in checked:
            show(_lines(rules, each, now))
        show([_summary(checked), *state.lines()])
    if any(each.broken_by for each in checked):
        raise SystemExit(BROKEN)


def _read(path: Path) -> list[tuple[int, Assertion]]:
    try:
        return read_assertions(path.read_text("utf-8"))
    except OSError as error:
        fail([f"{path}: {error.strerror}"])
    except UnicodeDecodeError as error:
        fail([f"{path}: byte {error.start} is not UTF-8"])
    except FormatError as error:
        fail([f"{path}: {error}"])


def _state_of(
    before: Address, command_config: PropertiesFile | None, state: AclState
) -> DecisionState:
    """Return the state of before, with the present values of settings that it lacks."""
    # Before is a file mostly, beside a live cluster that has the properties.
    config = command_config if before.is_live else None
    try:
        contents = read_contents(Location(before, config))
    except RepositoryError as error:
        fail(error.problems)
    networks = contents.networks
    if networks is None:
        networks = state.snapshot.matches_networks
    snapshot = snapshot_of(contents.bindings).with_network_matching(enabled=networks)
    return DecisionState(contents.policy or state.policy.policy, snapshot)


def _summary(checked: Sequence[Checked]) -> str:
    broken = sum(bool(each.broken_by) for each in checked)
    return f"{len(checked)} rules: {len(checked) - broken} hold, {broken} broken"


def _lines(path: Path, checked: Checked, state: DecisionState) -> Iterator[str]:
    word = paint("broken", "red", bold=True) if checked.broken_by else paint("holds", "green")
    yield f"{word}: {printable(str(path))}, line {checked.line}: {rule_words(checked.rule)}"
    if checked.broken_by and checked.rule.reason is not None:
        yield f"  reason: {printable(checked.rule.reason)}"
    for question in checked.broken_by[:_SHOWN_MAX]:
        yield from _counterexample(question, state)
    if len(checked.broken_by) > _SHOWN_MAX:
        yield f"  and {len(checked.broken_by) - _SHOWN_MAX} more; --output json has all"


def _counterexample(question: Question, state: DecisionState) -> Iterator[str]:
    decision = explain(*state, question)
    may = "may" if decision.allowed else "may not"
    what = resource_words(question.resource_type, question.name)
    who = printable(question.principal)
    reason = because(*state, question, decision)
    yield f"  {who} {may} {question.operation.name} {what} from {question.host}: {reason}"
    if decision.binding is not None:
        yield f"    {row(decision.binding)}"


def _markdown(path: Path, checked: Sequence[Checked], state: DecisionState) -> Iterator[str]:
    yield f"**{_summary(checked)}**"
    lines = [line for each in checked if each.broken_by for line in _lines(path, each, state)]
    if lines:
        yield from ("", *code_block(lines, "text"))


def _record(checked: Checked, state: DecisionState) -> dict[str, Any]:
    rule = checked.rule
    return {
        "rule": rule.kind.value,
        "line": checked.line,
        "words": rule_words(rule),
        "reason": rule.reason,
        "holds": not checked.broken_by,
        "counterexamples": [
            {
                "principal": each.principal,
                "host": each.host,
                "operation": each.operation.name,
                "resourceType": each.resource_type.name,
                "name": each.name,
                **decision_record(explain(*state, each)),
            }
            for each in checked.broken_by
        ],
    }


def rule_words(rule: Assertion) -> str:
    """Return a rule as a sentence."""
    principals = ", ".join(
        "every principal" if each == WILDCARD_PRINCIPAL else printable(each)
        for each in rule.principals
    )
    where = "" if rule.host == WILDCARD else f", from {rule.host}"
    what = f"{_permissions(rule)}{where}"
    if rule.kind is AssertionKind.NO_MORE:
        whose = f" of {principals}" if principals else ""
        return f"no more than before{whose}: {what}"
    if rule.kind is AssertionKind.ONLY:
        return f"only {principals} may {what}"
    if rule.kind is AssertionKind.NEVER and WILDCARD_PRINCIPAL in rule.principals:
        return f"no principal may {what}"
    return f"{principals} may {rule.kind.value} {what}"


def _permissions(rule: Assertion) -> str:
    if len(rule.operations) == len(SUPPORTED_OPERATIONS) and rule.names == ALL_NAMES:
        every = {each.name for _, operations in rule.operations for each in operations}
        whole = {each.name for operations in SUPPORTED_OPERATIONS.values() for each in operations}
        return "everything" if every == whole else ", ".join(sorted(every))
    parts = []
    for kind, operations in rule.operations:
        is_all = operations == SUPPORTED_OPERATIONS[kind]
        names = "the cluster" if kind is ResourceType.CLUSTER else extent_words(kind, rule.names)
        words = "do anything with" if is_all else ", ".join(each.name for each in operations)
        parts.append(f"{words} {names}")
    return "; ".join(parts)
