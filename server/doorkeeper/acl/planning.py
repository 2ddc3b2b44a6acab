"""What must change so that a set of ACLs becomes another one, within what somebody owns.

Ownership is a ``Selector``: bindings that it does not select are never touched, and may not be
wanted either. A plan adds before it removes, so that nobody loses in between what they keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.model import WILDCARD, PatternType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBinding, ResourceType


class PlanError(ValueError):
    """What is wanted cannot be planned; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """What somebody owns: bindings that fit every part; a part without members fits all.

    ``prefixes`` are beginnings of the names of resources: a pattern is owned where all that it
    covers begins so.
    """

    prefixes: tuple[str, ...] = ()
    principals: frozenset[str] = frozenset()
    resource_types: frozenset[ResourceType] = frozenset()

    def selects(self, binding: AclBinding) -> bool:
        """Say whether the binding is owned."""
        pattern, entry = binding
        every = pattern.name == WILDCARD and pattern.pattern_type is PatternType.LITERAL
        return (
            (not self.prefixes or (not every and pattern.name.startswith(self.prefixes)))
            and (not self.principals or entry.principal in self.principals)
            and (not self.resource_types or pattern.resource_type in self.resource_types)
        )


EVERYTHING = Selector()


class Plan(NamedTuple):
    """The changes, each part in the order of the bindings' fields.

    ``kept`` counts what is there and is wanted, ``foreign`` what is there and not owned.
    """

    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    kept: int
    foreign: int

    def __bool__(self) -> bool:
        """Say whether anything would change."""
        return bool(self.added or self.removed)


def plan(
    present: Iterable[AclBinding],
    wanted: Iterable[AclBinding],
    owned: Selector = EVERYTHING,
    *,
    removals_max: int | None = None,
) -> Plan:
    """Return what must change.

    Raises:
        PlanError: a wanted binding is not owned, or more would go than ``removals_max``.

    """
    goal = set(wanted)
    outside = sorted(binding for binding in goal if not owned.selects(binding))
    if outside:
        (resource_type, name, _), entry = outside[0]
        more = f", and {len(outside) - 1} more" if len(outside) > 1 else ""
        raise PlanError(
            f"not owned: {resource_type.name} {name!r} for {entry.principal}{more}; what is wanted"
            " must fit what is selected"
        )
    there = set(present)
    mine = {binding for binding in there if owned.selects(binding)}
    removed = tuple(sorted(mine - goal))
    found = Plan(tuple(sorted(goal - mine)), removed, len(mine & goal), len(there) - len(mine))
    return found if removals_max is None else within(found, removals_max)


def within(found: Plan, removals_max: int) -> Plan:
    """Return the plan.

    Raises:
        PlanError: it removes more than that.

    """
    if len(found.removed) > removals_max:
        raise PlanError(f"{len(found.removed)} ACLs would be removed; allowed: {removals_max}")
    return found
