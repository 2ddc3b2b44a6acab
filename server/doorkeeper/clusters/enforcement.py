"""The changes of a cluster that remove its drift: which are made, and which are held back.

Additions come before removals, so that permissions in both sets are never interrupted. Changes that
others made within the scope are made undone, or only reported. A change that has to be repeated
again and again is one that another controller of the same scope undoes: then enforcement stops.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.clusters.config import Foreign
from doorkeeper.clusters.drift import binding_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.clusters.config import ClusterConfig
    from doorkeeper.clusters.drift import AclDrift, Bindings, DesiredChange

REPEATS_MAX: Final = 10
"""So many repetitions of one change are the work of another controller."""

QUIET_INTERVALS: Final = 10
"""After so many intervals without a repetition, the repetitions of a change are forgotten."""


class AclEdits(NamedTuple):
    """The changes to make; ``held`` says why others are not made, or is empty."""

    added: tuple[AclBinding, ...] = ()
    removed: tuple[AclBinding, ...] = ()
    held: str = ""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def batches(self, size: int) -> Iterator[tuple[bool, Sequence[AclBinding]]]:
        """Yield whether to add, and the bindings of each request, the additions first."""
        for adds, bindings in ((True, self.added), (False, self.removed)):
            for at in range(0, len(bindings), size):
                yield adds, bindings[at : at + size]


class RepeatedChange(NamedTuple):
    """How often a change of a binding was made, and when the last time."""

    adds: bool
    times: int
    last_s: float


class Enforcement:
    """Decides about the changes of one cluster; it remembers readings and its own changes."""

    def __init__(self, config: ClusterConfig) -> None:
        self._limits = config.limits
        self._reports_foreign = config.foreign is Foreign.REPORT
        self._forget_s = QUIET_INTERVALS * config.interval_s
        self._known: Bindings | None = None
        """The drift at the last reading; None before the first one."""
        self._own: set[AclBinding] = set()
        """The bindings whose being desired has changed since the last reading."""
        self._agrees_since_s: float | None = None
        self._repetitions: OrderedDict[AclBinding, RepeatedChange] = OrderedDict()
        """The changes of some intervals, the oldest first."""
        self.foreign: Bindings = frozenset()
        """The part of the drift that others caused."""
        self.conflict = ""
        """Why enforcement has stopped; empty if it has not."""

    def note(self, goal: DesiredChange) -> None:
        """Take a change of the desired set: differences of these bindings are not of others."""
        self._own.update(goal.added, goal.removed)

    def forget(self) -> None:
        """Go on with a first reading, after others have changed the cluster for this server."""
        self._known = None
        self._own.clear()

    def observe(self, drift: AclDrift, now_s: float) -> None:
        """Find the changes of others since the last reading.

        A conflict ends when the cluster has agreed for some intervals.
        """
        parts = drift.missing | drift.extra
        known = self._known
        if known is None:
            # Before the first reading others may have added ACLs; those that lack may be new here.
            self.foreign = drift.extra
        else:
            self.foreign = (parts - self._own) - (known - self.foreign)
        self._known = parts
        self._own.clear()
        if drift:
            self._agrees_since_s = None
        elif self._agrees_since_s is None:
            # Right after a change of its own every controller reads what it wants.
            self._agrees_since_s = now_s
        elif self.conflict and now_s - self._agrees_since_s > self._forget_s:
            self.conflict = ""
            self._repetitions.clear()

    def plan(self, drift: AclDrift) -> AclEdits:
        """Return the changes that remove a drift, within the limits."""
        if self.conflict:
            return AclEdits(held=self.conflict)
        kept = self.foreign if self._reports_foreign else frozenset()
        added, removed = sorted(drift.missing - kept), sorted(drift.extra - kept)
        held = [f"{len(kept)} changes of others are reported only"] if kept else []
        if len(removed) > self._limits.removals_max:
            held.append(
                f"{len(removed)} ACLs would be removed; max.removals is {self._limits.removals_max}"
            )
            removed = []
        return AclEdits(tuple(added), tuple(removed), "; ".join(held))

    def record(self, edits: AclEdits, now_s: float) -> None:
        """Count the repetitions of changes that were made."""
        repetitions = self._repetitions
        while repetitions:
            oldest, last = next(iter(repetitions.items()))
            if now_s - last.last_s <= self._forget_s:
                break
            del repetitions[oldest]
        again = []
        for adds, bindings in ((True, edits.added), (False, edits.removed)):
            for binding in bindings:
                before = repetitions.pop(binding, None)
                times = 0 if before is None or before.adds is not adds else before.times + 1
                repetitions[binding] = RepeatedChange(adds, times, now_s)
                if times >= REPEATS_MAX:
                    again.append(binding)
        if again:
            self.conflict = (
                "another controller changes the same ACLs: this one was changed back"
                f" {REPEATS_MAX} times: {binding_text(min(again))}; nothing is changed until the"
                f" cluster agrees for {QUIET_INTERVALS} intervals"
            )
