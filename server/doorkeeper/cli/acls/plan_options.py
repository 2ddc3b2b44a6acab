"""The options and statuses of commands that show changes: ``plan`` and ``diff``.

A status of its own for changes lets scripts tell them from wrong usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from doorkeeper.acl.widening import widening
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.effective import (
    lines_of_difference,
    markdown_of_difference,
    record_of_difference,
)
from doorkeeper.cli.acls.printing import code_block, row
from doorkeeper.cli.terminal import fail, show, show_json
from doorkeeper.entities.plan import NO_ENTITIES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import NoReturn

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.plan import Plan
    from doorkeeper.cli.acls.effective import EffectiveDifference
    from doorkeeper.cli.acls.plans import Side
    from doorkeeper.entities.plan import EntityPlan

CHANGES: Final = 3
"""The status of a plan with changes, and of sets that differ."""

PLAN_STATUSES: Final = """\b
Exit statuses: 0 no changes; 1 failed, or a change of --fail-on, with the reason
on stderr; 2 wrong usage; 3 changes; 130 ended by Ctrl-C."""

plan_output_option = click.option(
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="The format: lines, JSON, or Markdown for a comment on a pull request.",
)
fail_on_option = click.option(
    "--fail-on",
    "failures",
    type=click.Choice(["removal", "widening"]),
    multiple=True,
    help="Exit with 1 if ACLs, topics, users or quotas are removed, or if requests may be"
    " permitted that were refused (an ALLOW is added or a DENY removed that no other ACL covers);"
    " may be repeated.",
)


def show_as(
    plan: Plan,
    present: Side,
    wanted: Side,
    output: str,
    effective: EffectiveDifference | None = None,
    entities: EntityPlan = NO_ENTITIES,
) -> None:
    """Print a plan between two sides in a format of ``plan_output_option``.

    Behind it are the decisions that it changes, if they were asked for.
    """
    if output == "markdown":
        more = [] if effective is None else ["", *markdown_of_difference(effective)]
        show([*markdown_lines(plan, entities), *more])
    elif output == "json" and effective is not None:
        show_json(
            acl_plans.document_of_plan(plan, present, wanted, entities)
            | record_of_difference(effective)
        )
    else:
        acl_plans.show_difference(plan, present, wanted, output, entities)
        if effective is not None:
            show(["", *lines_of_difference(effective)])


def show_effective(found: EffectiveDifference, before: Side, after: Side, output: str) -> None:
    """Print the decisions that change between two sides in a format of ``plan_output_option``."""
    if output == "json":
        sides = {"before": before.record(), "after": after.record()}
        show_json(sides | record_of_difference(found))
    else:
        show(markdown_of_difference(found) if output == "markdown" else lines_of_difference(found))


def markdown_lines(plan: Plan, entities: EntityPlan = NO_ENTITIES) -> Iterator[str]:
    """Yield the lines of a plan in Markdown: its numbers, and a block of changes."""
    yield f"**{acl_plans.summary(plan, entities)}**"
    if not plan and not entities:
        return
    yield from ("", *code_block(acl_plans.change_lines(plan, entities), "diff"))


def exit_with_status(
    plan: Plan,
    present: Collection[AclBinding],
    failures: Collection[str],
    *,
    changes: bool | None = None,
    entities: EntityPlan = NO_ENTITIES,
) -> NoReturn:
    """End the process with the status of a plan, after the reasons of ``--fail-on``.

    ``changes`` says whether there are changes of the kind that was asked for; None: those of ACLs.
    """
    reasons = []
    if "removal" in failures and plan.removed:
        reasons.append(f"--fail-on removal: {len(plan.removed)} ACLs are removed")
    if "removal" in failures and entities.removals:
        reasons.append(
            f"--fail-on removal: {len(entities.removals)} topics, users and quotas are removed"
        )
    if "widening" in failures and (found := widening(present, plan)):
        reasons.append(f"--fail-on widening: requests may be newly permitted by {len(found)} ACLs")
        reasons += [f"  {row(each)}" for each in found]
    if reasons:
        fail(reasons)
    has_changes = bool(plan) if changes is None else changes
    raise SystemExit(CHANGES if has_changes or entities else 0)
