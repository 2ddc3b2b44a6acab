"""Applies a plan in batches.

Additions come first. A failed item does not stop the others; if the outcome of a batch is unknown,
applying ends. A plan may be applied again: existing additions and missing removals succeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.plan import Plan
    from doorkeeper.errors import ApiError

BATCH: Final = 1000
"""How many items one request has; a broker takes 10,000."""


class Target(Protocol):
    """A set of ACLs that can be changed."""

    async def add(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        """Create bindings; return an error or None for each, in order."""
        ...

    async def remove(self, bindings: Sequence[AclBinding]) -> Sequence[ApiError | None]:
        """Delete exactly these; return an error or None for each, in order."""
        ...


class Failed(NamedTuple):
    """An item that was not applied."""

    binding: AclBinding
    added: bool
    error: ApiError


class Outcome(NamedTuple):
    """The counts of applied items, and the failed ones."""

    added: int
    removed: int
    failed: tuple[Failed, ...]


async def apply(
    plan: Plan,
    target: Target,
    on_progress: Callable[[int, int], None] | None = None,
    between: Callable[[], Awaitable[None]] | None = None,
) -> Outcome:
    """Apply a plan; ``on_progress`` gets the numbers of finished and of all items.

    ``between`` is called after the additions, before the removals.

    Raises:
        Exception: any exception of the target; the batches before it are applied.
    """
    whole, done = len(plan.added) + len(plan.removed), 0
    counts = [0, 0]
    failed: list[Failed] = []
    for adds, bindings in ((True, plan.added), (False, plan.removed)):
        if not adds and between is not None:
            await between()
        for start in range(0, len(bindings), BATCH):
            batch = bindings[start : start + BATCH]
            change = target.add if adds else target.remove
            for binding, error in zip(batch, await change(batch), strict=True):
                if error is None:
                    counts[not adds] += 1
                else:
                    failed.append(Failed(binding, adds, error))
            done += len(batch)
            if on_progress is not None:
                on_progress(done, whole)
    return Outcome(counts[0], counts[1], tuple(failed))
