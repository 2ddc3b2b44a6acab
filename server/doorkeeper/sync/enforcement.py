"""The changes of a cluster that remove its drift: which are made, and which are held back.

The rules of changes on a live cluster (``acl.live_changes``) decide, with what is known here of the
past: changes of others within the scope, which are made undone or only reported; changes that the
cluster refused, which are tried again after growing pauses; and changes that have to be repeated
again and again, which another controller of the same scope undoes: then enforcement stops.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acls.live_changes import judge
from doorkeeper.sync.config import Foreign
from doorkeeper.sync.drift import NO_BINDINGS, binding_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.live_changes import LiveCluster, Stage
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import AclDrift, Bindings, DesiredChange

REPEATS_MAX: Final = 10
"""So many repetitions of one change are the work of another controller."""

QUIET_INTERVALS: Final = 10
"""After so many intervals without a repetition, the repetitions of a change are forgotten."""

RECENT_S: Final = 60.0
"""So long after a request a broker may lag, or the request be applied late.

One that lags longer is fenced, and not asked (``broker.session.timeout.ms``: 9 s).
"""

_RETRY_MAX_S: Final = 300.0
"""The longest pause before a refused change is sent again, unless the interval is longer."""


class Hold(NamedTuple):
    """Changes that are not made, how many ACLs, and why.

    ``rule`` is a word of the rules of changes, or ``foreign``, ``rival`` or ``refused``.
    """

    rule: str
    acls: int
    reason: str


class AclEdits(NamedTuple):
    """The changes to make, in their order, those that are not made, and risks of the first."""

    stages: tuple[Stage, ...] = ()
    holds: tuple[Hold, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.stages)


class RepeatedChange(NamedTuple):
    """How often a change of a binding was made, and when the last time."""

    adds: bool
    times: int
    last_s: float


class Enforcement:
    """Decides about the changes of one cluster; it remembers readings and its own changes."""

    def __init__(self, config: ClusterConfig) -> None:
        self._limits = config.limits.removals
        self._accepted = config.accepted
        self._reports_foreign = config.foreign is Foreign.REPORT
        self._interval_s = config.interval_s
        self._forget_s = QUIET_INTERVALS * config.interval_s
        self._known: Bindings | None = None
        """The drift at the last reading; None before the first one."""
        self._own: set[AclBinding] = set()
        """The bindings whose being desired has changed since the last reading."""
        self._agrees_since_s: float | None = None
        self._repetitions: OrderedDict[AclBinding, RepeatedChange] = OrderedDict()
        """The changes of some intervals, the oldest first."""
        self._failed: Bindings = NO_BINDINGS
        """The changes that the cluster refused; they are not sent before ``_retry_s``."""
        self._failures = 0
        self._retry_s = 0.0
        self._refusal = ""
        self.foreign: Bindings = NO_BINDINGS
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
        if self._failed and (now_s >= self._retry_s or not parts & self._failed):
            self._failed = NO_BINDINGS
        if not drift:
            self._failures = 0
        if drift:
            self._agrees_since_s = None
        elif self._agrees_since_s is None:
            # Right after a change of its own every controller reads what it wants.
            self._agrees_since_s = now_s
        elif self.conflict and now_s - self._agrees_since_s > self._forget_s:
            self.conflict = ""
            self._repetitions.clear()

    def plan(
        self,
        drift: AclDrift,
        desired: AbstractSet[AclBinding],
        cluster: LiveCluster,
    ) -> AclEdits:
        """Return the changes that remove a drift."""
        parts = drift.missing | drift.extra
        if self.conflict and not cluster.other_owner:
            return AclEdits(holds=(Hold("rival", len(parts), self.conflict),))
        kept = self.foreign & parts if self._reports_foreign else NO_BINDINGS
        failed = (self._failed & parts) - kept
        holds = []
        if kept:
            holds.append(
                Hold("foreign", len(kept), f"{len(kept)} changes of others are reported only")
            )
        if failed:
            holds.append(Hold("refused", len(failed), self._refusal))
        present = drift.present(desired)
        change = judge(
            present | drift.outside if drift.outside else present,
            drift.missing,
            drift.extra,
            cluster,
            limits=self._limits._replace(scope=len(present)),
            accepted=self._accepted,
            # What stays as it is limits the other changes as what the cluster refused does.
            failed=kept | failed,
        )
        holds += [
            Hold(each.rule.value, len(each.bindings), each.text("accept: [{}]"))
            for each in change.held
        ]
        return AclEdits(change.stages, tuple(holds), change.warnings)

    def refuse(self, bindings: Bindings, reason: str, now_s: float) -> None:
        """Take changes that the cluster refused, and why: they are sent again after a pause."""
        if not self._failed:
            self._failures += 1
        pause_s = self._interval_s * 2 ** min(self._failures - 1, 20)
        self._retry_s = now_s + min(pause_s, max(_RETRY_MAX_S, self._interval_s))
        self._failed, self._refusal = self._failed | bindings, reason

    def record(self, bindings: Bindings, now_s: float, *, adds: bool) -> None:
        """Count the repetitions of changes that the cluster took."""
        repetitions = self._repetitions
        while repetitions:
            oldest, last = next(iter(repetitions.items()))
            if now_s - last.last_s <= self._forget_s:
                break
            del repetitions[oldest]
        again = []
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


class RecentRequests:
    """The ACLs of recent requests, also of lost ones."""

    def __init__(self) -> None:
        self._recent: dict[AclBinding, tuple[bool, float]] = {}
        """Whether they add them, and when; the oldest come first."""

    def note(self, sent: Sequence[Stage], now_s: float) -> None:
        """Take changes that are sent now."""
        for adds, stage in sent:
            for each in stage:
                self._recent.pop(each, None)
                self._recent[each] = adds, now_s

    def distrusted(
        self, drift: AclDrift, desired: AbstractSet[AclBinding], now_s: float
    ) -> AclDrift:
        """Return a drift with what a broker that lags may still show, or not show yet.

        It is sent again: a DENY that this server has just removed does not limit what is added
        next, and an ALLOW that it has just added is to be removed before the DENY that limits it.
        """
        while self._recent:
            oldest, (_, sent_s) = next(iter(self._recent.items()))
            if now_s - sent_s < RECENT_S:
                break
            del self._recent[oldest]
        if not drift:
            return drift
        added = {each for each, (adds, _) in self._recent.items() if adds}
        removed = self._recent.keys() - added
        return drift._replace(
            missing=drift.missing | (removed & desired), extra=drift.extra | (added - desired)
        )
