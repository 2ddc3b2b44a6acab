"""Ownership on the command line: the ACLs that commands select, and those that they may remove.

Without ownership ``plan`` and ``apply`` only add: a file that lacks the ACLs of another team must
not remove them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.formats.names import FormatError, resource_type
from doorkeeper.acls.model import AclBinding, ResourceType
from doorkeeper.acls.plan import EVERYTHING, Plan, Selector, SelectorUnion, plan, plan_additions
from doorkeeper.cli.completion import one_of
from doorkeeper.cli.options import principal, utf8
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import say
from doorkeeper.cli.vocabulary.options import Decorated, named_option, with_options

_TYPES = [kind.name.lower() for kind in ResourceType if kind > ResourceType.ANY]

_OWNED: Final = {
    "--own-prefix": "resources whose names begin with PREFIX",
    "--own-principal": "this principal",
    "--own-type": "resources of this type, such as topic",
}


def _prefixes(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    # All names begin with an empty text: a script's empty variable would own the whole cluster.
    if "" in values:
        raise click.BadParameter("is empty; omit the option to own all names")
    return values


def _types(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> object:
    try:
        return frozenset(map(resource_type, values))
    except FormatError as error:
        raise click.BadParameter(str(error)) from None


def _ownership(*, owns: bool) -> Callable[[Decorated], Decorated]:

    def option(name: str, parameter: str, **attributes: Any) -> Callable[[Any], Any]:
        text = f"Own the ACLs of {_OWNED[name]}: those not in WANTED are removed." if owns else None
        return named_option(
            name, parameter, text=text, multiple=True, default_text="all", **attributes
        )

    return with_options(
        option("--own-prefix", "prefixes", type=utf8, callback=_prefixes),
        option("--own-principal", "principals", type=principal),
        option("--own-type", "types", callback=_types, shell_complete=one_of(_TYPES)),
    )


selectors = _ownership(owns=False)
"""The options of ownership; ``selector_of`` reads their values."""

owners = with_options(_ownership(owns=True), named_option("--whole", is_flag=True))
"""Those of a command that removes what is owned and not wanted, as the texts say."""


def selector_of(options: Mapping[str, Any]) -> Selector:
    return Selector(
        prefixes=options["prefixes"],
        principals=frozenset(options["principals"]),
        resource_types=options["types"],
    )


class Ownership(Struct, frozen=True):
    """The owned ACLs: those of ``part``, or none, so that ACLs are only added.

    With ``is_partial`` other ACLs may be wanted too, and are only added.
    """

    part: Selector | SelectorUnion | None
    is_partial: bool = False

    def plan_contents(self, contents: AclContents, desired: Collection[AclBinding]) -> Plan:
        """Return the plan, after a line on stderr about other ACLs: how many stay, or go.

        Raises:
            NotOwned: as for ``doorkeeper.acls.plan.plan``.
        """
        changes = contents.plan(partial(self.plan, desired=desired))
        if self.part is None and changes.foreign:
            say(
                f"note: {changes.foreign} other ACLs are kept: without owns: in a file,"
                " --own-... or --whole, ACLs are only added"
            )
        if self.part == EVERYTHING:
            existing = len(set(contents.bindings))
            say(f"note: --whole removes {len(changes.removed)} of the {existing} existing ACLs")
        return changes

    def plan(self, present: Iterable[AclBinding], desired: Iterable[AclBinding]) -> Plan:
        """Return the plan for some present ACLs.

        Raises:
            NotOwned: as for ``doorkeeper.acls.plan.plan``.
        """
        if self.part is None:
            return plan_additions(present, desired)
        # All that is wanted must be owned then, as the options say.
        if not self.is_partial:
            return plan(present, desired, self.part)
        # The ACLs of files without ownership are only added, and never removed.
        desired = list(desired)
        owned = [binding for binding in desired if self.part.selects(binding)]
        own = plan(present, owned, self.part)
        # Wanted ACLs that no file owns are added, and stay when they are not wanted any more.
        others = plan_additions(present, set(desired).difference(owned))
        added = tuple(sorted((*own.added, *others.added)))
        unchanged = own.unchanged + others.unchanged
        return Plan(added, own.removed, unchanged, own.foreign - others.unchanged)


def ownership_of(
    selector: Selector, declared: Sequence[Selector] = (), *, whole: bool
) -> Ownership:
    """Return the ownership that options name, or that files declare.

    Raises:
        click.UsageError: they contradict each other.
    """
    if selector != EVERYTHING:
        if whole:
            raise click.UsageError("--whole selects all ACLs and cannot be combined with --own-...")
        if declared:
            raise click.UsageError("WANTED has owns:, which cannot be combined with --own-...")
        return Ownership(selector)
    if whole:
        return Ownership(EVERYTHING)
    if declared:
        return Ownership(SelectorUnion.of(declared), is_partial=True)
    return Ownership(None)
