"""Ownership on the command line: the ACLs that ``plan`` and ``apply`` may remove.

Without ownership they only add: a file that lacks the ACLs of another team must not remove them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from doorkeeper.acl.plan import EVERYTHING, plan, plan_additions
from doorkeeper.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.plan import Plan, Selector

whole_option = click.option(
    "--whole",
    is_flag=True,
    help="Own all ACLs of ADDRESS: remove each one that is not wanted.",
)


class Ownership(NamedTuple):
    """The owned ACLs; ``selector`` is None where nothing is owned, and ACLs are only added."""

    selector: Selector | None

    @property
    def only_adds(self) -> bool:
        """Say whether no ACL may be removed."""
        return self.selector is None

    def selects(self, binding: AclBinding) -> bool:
        """Say whether a binding is owned."""
        return self.selector is not None and self.selector.selects(binding)

    def plan(
        self, present: Iterable[AclBinding], wanted: Iterable[AclBinding], removals_max: int
    ) -> Plan:
        """Return the plan, after a line on stderr about what it leaves alone or removes.

        Raises:
            PlanError: as for ``doorkeeper.acl.plan.plan``.

        """
        if self.selector is None:
            found = plan_additions(present, wanted)
            if found.foreign:
                say(
                    f"note: {found.foreign} ACLs that are not wanted stay: without owns: in a"
                    " file, --own-... or --whole, ACLs are only added"
                )
            return found
        if self.selector == EVERYTHING:
            # Before the plan: a long one scrolls its summary away, and --max-removals ends
            # without one.
            present = set(present)
            surplus = len(present.difference(wanted))
            say(f"note: --whole removes {surplus} of the {len(present)} ACLs that are there")
        return plan(present, wanted, self.selector, removals_max=removals_max)


def ownership_of(selector: Selector, *, whole: bool) -> Ownership:
    """Return the ownership that options name.

    Raises:
        click.UsageError: they contradict each other.

    """
    if not whole:
        return Ownership(None if selector == EVERYTHING else selector)
    if selector != EVERYTHING:
        raise click.UsageError("--whole excludes --own-...: it owns all ACLs")
    return Ownership(EVERYTHING)
