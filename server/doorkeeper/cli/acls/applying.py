"""Changing the ACLs of a place as planned: the plan is shown, a question is asked, it is done.

What is interrupted says how much of it is done: the same command does what is left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from doorkeeper.acl.applying import apply
from doorkeeper.acl.planning import PlanError
from doorkeeper.cli.acls import plans as acl_plans
from doorkeeper.cli.acls.places import at
from doorkeeper.cli.acls.sources import SourceError
from doorkeeper.cli.acls.texts import row
from doorkeeper.cli.failures import fail
from doorkeeper.cli.interrupts import confirmed, end_interrupted
from doorkeeper.cli.progress import progress
from doorkeeper.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from doorkeeper.acl.applying import Outcome
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.planning import Plan
    from doorkeeper.cli.acls.places import Changeable, Place


def carry_out(
    place: Place, made: Callable[[list[AclBinding]], Plan], *, dry_run: bool, asks: bool
) -> None:
    """Show the plan that is made of what is there, and do it; what fails ends the process."""
    under_way = _UnderWay()

    async def work(there: Changeable) -> Outcome | None:
        found = made(there.present)
        show_plan(found, "table")
        if not found or dry_run:
            return None
        if asks and not confirmed("Shall it be done?"):
            say("nothing was changed")
            return None
        under_way.begin(found)
        return await apply(found, there.target, under_way.tell)

    try:
        outcome = at(place, work, make_store=not dry_run)
    except SourceError as error:
        fail([*error.problems, *under_way.words()])
    except PlanError as error:
        fail_as_unplanned(error)
    except KeyboardInterrupt:
        end_interrupted(*(under_way.words() or ["nothing was changed"]))
    if outcome is None:
        return
    say(f"{outcome.added} added, {outcome.removed} removed")
    if outcome.failed:
        fail(
            f"{'adding' if each.added else 'removing'} {row(each.binding)}: {each.error}"
            for each in outcome.failed
        )


class _UnderWay:
    """How much of a plan is done, told to whoever watches."""

    def __init__(self) -> None:
        self._done, self._whole = 0, 0
        self._told = progress("applying")

    def begin(self, plan: Plan) -> None:
        self._whole = len(plan.added) + len(plan.removed)

    def tell(self, done: int, whole: int) -> None:
        self._done = done
        if self._told is not None:
            self._told(done, whole)

    def words(self) -> list[str]:
        """Return what becomes of a plan that ends here; nothing where none has begun."""
        if not self._whole:
            return []
        # Nobody knows of the portion that was asked for and not answered.
        done = f"{self._done} of {self._whole} changes are done, perhaps some more"
        return [f"{done}; the same command does what is left"]


def fail_as_unplanned(error: PlanError) -> NoReturn:
    """End the process where there is no plan, with the options that would make one."""
    fail([f"{error} (--max-removals, --own-prefix, --own-principal, --own-type)"])


def show_plan(found: Plan, output: str) -> None:
    """Print a plan, for people or as JSON."""
    if output == "json":
        click.echo(json.dumps(acl_plans.record(found), ensure_ascii=False, indent=1))
        return
    for line in acl_plans.lines(found):
        click.echo(line)
