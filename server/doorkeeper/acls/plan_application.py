"""Applies a plan in the stages of ``live_changes``, and each stage in batches.

What the target refuses does not stop the rest; after each stage with refusals the rest is judged
again, so that nothing is sent that depends on it. If the outcome of a batch is unknown, applying
ends. A plan may be applied again: existing additions and missing removals succeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from doorkeeper.acls.live_changes import LiveChange, LiveCluster, RemovalLimits, Rule, judge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.live_changes import Held
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Plan
    from doorkeeper.base.errors import ApiError

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


class Rules(Struct, frozen=True):
    """What a change must comply with; None as ``limits`` permits any number of removals."""

    cluster: LiveCluster = LiveCluster()
    limits: RemovalLimits | None = None
    accepted: frozenset[Rule] = frozenset()

    def judge(
        self,
        present: AbstractSet[AclBinding],
        plan: Plan,
        failed: AbstractSet[AclBinding] | None = None,
    ) -> LiveChange:
        """Return the stages of a plan, and what the rules hold back of it.

        With ``failed`` it is the rest of a plan, whose number of removals was judged before.
        """
        return judge(
            present,
            plan.added,
            plan.removed,
            self.cluster,
            limits=self.limits if failed is None else None,
            accepted=self.accepted,
            failed=failed or frozenset(),
        )


class Failed(Struct, frozen=True):
    """An item that was not applied."""

    binding: AclBinding
    added: bool
    error: ApiError


class Outcome(Struct, frozen=True):
    """The counts of applied items, the refused ones, and what was not sent after these."""

    added: int
    removed: int
    failed: tuple[Failed, ...]
    held: tuple[Held, ...] = ()


async def apply(
    plan: Plan,
    target: Target,
    present: Iterable[AclBinding],
    rules: Rules,
    on_batch: Callable[[int, Sequence[Failed]], None] | None = None,
    between: Callable[[], Awaitable[None]] | None = None,
) -> Outcome:
    """Apply what the rules permit of a plan, for the present ACLs.

    ``on_batch`` gets the number of items of each batch that were applied, and the refused ones.
    ``between`` is called after the additions, before the removals.

    Raises:
        Exception: any exception of the target; only ``on_batch`` knows of the batches before it.
    """
    counts = [0, 0]
    current = set(present)
    failed: dict[AclBinding, Failed] = {}
    change = first = rules.judge(current, plan)
    held = first.held
    skipped = frozenset(binding for hold in held for binding in hold.bindings)
    while change:
        refusals = len(failed)
        for adds, bindings in change.stages:
            if not adds and between is not None:
                await between()
                between = None
            for start in range(0, len(bindings), BATCH):
                batch = bindings[start : start + BATCH]
                errors = await (target.add if adds else target.remove)(batch)
                refused = [
                    Failed(binding, adds, error)
                    for binding, error in zip(batch, errors, strict=True)
                    if error is not None
                ]
                failed.update((failure.binding, failure) for failure in refused)
                counts[not adds] += len(batch) - len(refused)
                current.symmetric_difference_update(set(batch) - failed.keys())
                if on_batch is not None:
                    on_batch(len(batch) - len(refused), refused)
            if len(failed) > refusals:
                break
        else:
            break
        change = rules.judge(current, plan, failed.keys() | skipped)
        held = (*first.held, *change.held)
    if between is not None:
        await between()
    return Outcome(counts[0], counts[1], tuple(failed.values()), held)
