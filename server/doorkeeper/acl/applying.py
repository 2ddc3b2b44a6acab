"""Carrying a plan out, item by item, in portions that a server takes.

Additions come first. An item that fails does not stop the others; where nobody knows what became of
a portion, it ends there. A plan that is applied again does what is left: what is there already, and
what is gone already, is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.planning import Plan
    from doorkeeper.errors import ApiError

PORTION: Final = 1000
"""How many items one request has; a broker takes 10,000."""


class Target(Protocol):
    """Where ACLs can be changed."""

    async def add(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        """Create bindings; an error or None for each, in order."""
        ...

    async def remove(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        """Delete exactly these; an error or None for each, in order."""
        ...


class Failed(NamedTuple):
    """An item that was not done."""

    binding: AclBinding
    added: bool
    error: ApiError


class Outcome(NamedTuple):
    """What was done of a plan."""

    added: int
    removed: int
    failed: tuple[Failed, ...]


async def apply(
    plan: Plan, target: Target, told: Callable[[int, int], None] | None = None
) -> Outcome:
    """Carry a plan out; ``told`` hears how many of how many items are done.

    Raises:
        Exception: whatever the target raises: what came before it is done.

    """
    whole, done = len(plan.added) + len(plan.removed), 0
    counts = [0, 0]
    failed: list[Failed] = []
    for adds, bindings in ((True, plan.added), (False, plan.removed)):
        for start in range(0, len(bindings), PORTION):
            portion = bindings[start : start + PORTION]
            change = target.add if adds else target.remove
            for binding, error in zip(portion, await change(portion), strict=True):
                if error is None:
                    counts[not adds] += 1
                else:
                    failed.append(Failed(binding, adds, error))
            done += len(portion)
            if told is not None:
                told(done, whole)
    return Outcome(counts[0], counts[1], tuple(failed))
