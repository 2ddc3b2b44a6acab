"""The options, output and statuses of commands that show changes: ``plan`` and ``diff``.

A status of its own for changes lets scripts tell them from wrong usage.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from doorkeeper.acls.entities.plan import NO_ENTITIES
from doorkeeper.acls.formats.records import records
from doorkeeper.acls.words import region_words
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.change_rules import refusal_of
from doorkeeper.cli.acls.effective import (
    lines_of_difference,
    markdown_of_difference,
    record_of_difference,
)
from doorkeeper.cli.acls.plan_files import document_of_plan
from doorkeeper.cli.acls.printing import code_block
from doorkeeper.cli.files import write_text
from doorkeeper.cli.json_records.sets import EffectiveDifference as EffectiveDifferenceRecord
from doorkeeper.cli.json_records.sets import Plan as PlanRecord
from doorkeeper.cli.terminal import counted, fail, json_text, printable, say, show, show_json
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import Decorated, named_option

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import NoReturn

    from doorkeeper.acls.effective_changes import EffectiveChange
    from doorkeeper.acls.entities.plan import EntityPlan
    from doorkeeper.acls.live_changes import Held
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Plan
    from doorkeeper.cli.acls.effective import EffectiveDifference
    from doorkeeper.cli.acls.plans import Side
    from doorkeeper.cli.acls.question_options import EffectivePolicy
    from doorkeeper.cli.acls.rules import RuleChecks
    from doorkeeper.cli.inspection import Examined

CHANGES: Final = 3
"""The status of a plan with changes, and of sets that differ."""

PLAN_STATUSES: Final = """
\b
Exit statuses: 0 no changes; 1 failed, nothing to compare, a condition of --fail-on is met,
apply would refuse the plan, or a rule of --assert is broken, with the reason on stderr;
2 wrong usage; 3 changes; 130 ended by Ctrl-C.
"""
DIFF_STATUSES: Final = """
\b
Exit statuses: 0 no changes; 1 failed, nothing to compare, or a condition of --fail-on is met,
with the reason on stderr; 2 wrong usage; 3 changes; 130 ended by Ctrl-C.
"""

_FAILURES: Final = {
    "removal": "ACLs, topics, users or quotas are removed",
    "widening": "requests become allowed that were denied, as --effective shows them",
    "unowned": "ADDRESS has ACLs that are neither in WANTED nor owned",
}

plan_output_option = json_output(PlanRecord, EffectiveDifferenceRecord, others=("markdown",))


def fail_on_option(*failures: str) -> Callable[[Decorated], Decorated]:
    """Return the option --fail-on with some of the failures; ``exit_with_status`` takes them."""
    choices = {failure: _FAILURES[failure] for failure in failures}
    return named_option(
        "--fail-on", "failures", type=click.Choice(failures), choices=choices, multiple=True
    )


class PlanReport(Struct, frozen=True):
    """What is printed of a plan or a difference.

    ``summary`` is its last line. ``unowned`` are ACLs that nobody owns, ``effective`` the decisions
    that change, ``rules`` the checks of --assert: what was asked for, or None. ``widening`` is what
    --fail-on widening fails for. ``policy`` is that of the rules. ``refused`` is what ``apply``
    refuses it for.
    """

    plan: Plan
    sides: tuple[Side, Side]
    summary: str
    examined: Examined
    entities: EntityPlan = NO_ENTITIES
    unowned: tuple[AclBinding, ...] | None = None
    effective: EffectiveDifference | None = None
    widening: tuple[EffectiveChange, ...] = ()
    rules: RuleChecks | None = None
    policy: EffectivePolicy | None = None
    refused: tuple[Held, ...] = ()

    def show(self, output: str) -> None:
        """Print it in a format of ``plan_output_option``."""
        if output == "json":
            show_json(self._record(), indent=1)
        elif output == "markdown":
            show(self._markdown())
        else:
            show(self._lines())

    def write(self, file: Path) -> None:
        """Write it to a file that ``apply --plan`` takes."""
        write_text(file, f"{json_text(self._record(), indent=1)}\n")
        say(f"wrote the plan to {file}")

    def changes(self) -> list[str]:
        """Return the lines of changes, and of ACLs that nobody owns."""
        return acl_plans.change_lines(self.plan, self.entities, self.unowned or ())

    def _lines(self) -> Iterator[str]:
        yield from acl_plans.lines(self.changes(), self.summary)
        if self.effective is not None:
            yield from ("", *lines_of_difference(self.effective))
        if self.rules is not None and self.policy is not None:
            yield from ("", *self.rules.lines(), self.rules.summary(), *self.policy.lines())

    def _markdown(self) -> Iterator[str]:
        yield f"**{self.summary}**"
        if changes := self.changes():
            yield from ("", *code_block(changes, "diff"))
        if self.effective is not None:
            yield from ("", *markdown_of_difference(self.effective))
        if self.rules is not None and self.policy is not None:
            yield from ("", *self.rules.markdown(), "", *code_block(self.policy.lines(), "text"))

    def _record(self) -> PlanRecord:
        document = document_of_plan(self.plan, *self.sides, self.entities, self.refused)
        if self.unowned is not None:
            document["unowned"] = list(records(self.unowned))
        if self.effective is not None:
            changed = record_of_difference(self.effective)
            document["effective"], document["policies"] = changed["effective"], changed["policies"]
        if self.rules is not None and self.policy is not None:
            document["rules"], document["policy"] = self.rules.record(), self.policy.record()
        return document


def widening_of(
    difference: EffectiveDifference | None, failures: Collection[str]
) -> tuple[EffectiveChange, ...]:
    """Return the regions that --fail-on widening fails for: those that are newly allowed."""
    if difference is None or "widening" not in failures:
        return ()
    return tuple(region for region in difference.changes if region.allowed)


def show_effective(
    difference: EffectiveDifference, before: Side, after: Side, examined: Examined, output: str
) -> None:
    """Print the decisions that change between two sides in a format of ``plan_output_option``."""
    if output == "json":
        record: EffectiveDifferenceRecord = {
            "before": before.record(),
            "after": after.record(),
            "examined": examined.number,
            **record_of_difference(difference),
        }
        show_json(record)
    else:
        show(
            markdown_of_difference(difference)
            if output == "markdown"
            else lines_of_difference(difference)
        )


def exit_with_status(
    report: PlanReport,
    failures: Collection[str],
    *,
    changes: bool | None = None,
) -> NoReturn:
    """End the process with the status of a plan, after the reasons of a failure.

    ``changes`` says whether there are changes of the kind that was asked for; None: those of ACLs.
    """
    plan, entities = report.plan, report.entities
    reasons = [f"apply refuses this plan: {refusal_of(held)}" for held in report.refused]
    if "removal" in failures and plan.removed:
        reasons.append(f"--fail-on removal: {len(plan.removed)} ACLs are removed")
    if "removal" in failures and entities.removals:
        reasons.append(
            f"--fail-on removal: {len(entities.removals)} topics, users and quotas are removed"
        )
    if report.widening:
        regions = counted(len(report.widening), "region")
        reasons.append(f"--fail-on widening: {regions} of requests would become allowed")
        reasons += [f"  {printable(region_words(region))}" for region in report.widening]
    if report.unowned:
        count = len(report.unowned)
        reasons.append(f"--fail-on unowned: {count} ACLs are neither desired nor owned")
    if "unowned" in failures and entities.foreign:
        reasons.append(
            f"--fail-on unowned: {len(entities.foreign)} topics, users and quotas without an"
            " owner differ"
        )
    if report.rules is not None and report.rules.broken:
        reasons.append(f"--assert: {report.rules.summary()}")
    if reasons:
        fail(reasons)
    report.examined.fail_if_nothing()
    has_changes = bool(plan) if changes is None else changes
    raise SystemExit(CHANGES if has_changes or entities else 0)
