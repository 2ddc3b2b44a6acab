"""The changes of a cluster that remove its drift: which are made, and which are held back.

The rules of changes on a live cluster (``acls.live_changes``) decide, with what is known here of
the past: changes of others within the scope, which are made undone or only reported; changes that
the cluster refused, which are tried again after growing pauses; changes that have to be repeated
again and again, which another controller of the same scope undoes: then enforcement stops; and
changes that were sent a moment ago, which no reading proves. Times come with the calls.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import binding_text, judge
from doorkeeper.sync.config import Foreign
from doorkeeper.sync.drift import NO_BINDINGS

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


class Hold(Struct, frozen=True):
    """Changes that are not made, how many ACLs, and why.

    ``rule`` is a word of the rules of changes, or ``foreign``, ``rival`` or ``refused``.
    """

    rule: str
    acls: int
    reason: str


class AclEdits(Struct, frozen=True):
    """The changes to make, in their order, those that are not made, and risks of the first."""

    stages: tuple[Stage, ...] = ()
    holds: tuple[Hold, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def bindings(self) -> Bindings:
        return frozenset(binding for stage in self.stages for binding in stage.bindings)


class SentChange(Struct, frozen=True):
    """The last change of a binding, when it was sent, and how often the cluster has taken it."""

    adds: bool
    sent_s: float
    successes: int = 0


class Enforcement:
    """Decides about the changes of one cluster; it remembers readings and its own changes."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._forget_s = QUIET_INTERVALS * config.interval_s
        self._known: Bindings | None = None
        """The drift at the last reading; None before the first one."""
        self._own: set[AclBinding] = set()
        """The bindings whose being desired has changed since the last reading."""
        self._agrees_since_s: float | None = None
        self._sent: OrderedDict[AclBinding, SentChange] = OrderedDict()
        """The requests of some time, also lost ones, the oldest first."""
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
        parts = drift.parts
        known, self._known = self._known, parts
        if known is None:
            # Before the first reading others may have added ACLs; those that lack may be new here.
            self.foreign = drift.extra
        else:
            self.foreign = (parts - self._own) - (known - self.foreign)
        self._own.clear()
        if now_s >= self._retry_s or not parts & self._failed:
            self._failed = NO_BINDINGS
        if drift:
            self._agrees_since_s = None
            return
        self._failures = 0
        if self._agrees_since_s is None:
            # Right after a change of its own every controller reads what it wants.
            self._agrees_since_s = now_s
        elif self.conflict and now_s - self._agrees_since_s > self._forget_s:
            self.conflict = ""
            for binding, sent in self._sent.items():
                self._sent[binding] = replace(sent, successes=0)

    def plan(
        self,
        drift: AclDrift,
        desired: AbstractSet[AclBinding],
        cluster: LiveCluster,
        now_s: float,
    ) -> AclEdits:
        """Return the changes that remove a drift."""
        drift = self._distrusted(drift, desired, now_s)
        parts, config = drift.parts, self._config
        if self.conflict:
            return AclEdits(holds=(Hold("rival", len(parts), self.conflict),))
        left = self.foreign & parts if config.foreign is Foreign.REPORT else NO_BINDINGS
        failed = (self._failed & parts) - left
        present = drift.present(desired)
        change = judge(
            present | drift.outside if drift.outside else present,
            drift.missing,
            drift.extra,
            cluster,
            limits=replace(config.limits, scope=len(present)),
            accepted=config.accepted,
            # What stays as it is limits the other changes as what the cluster refused does.
            failed=left | failed,
        )
        reported = f"{len(left)} changes by others are only reported"
        holds = (
            Hold("foreign", len(left), reported),
            Hold("refused", len(failed), self._refusal),
            *(
                Hold(held.rule.value, len(held.bindings), held.text("accept: [{}]"))
                for held in change.held
            ),
        )
        return AclEdits(change.stages, tuple(hold for hold in holds if hold.acls), change.warnings)

    def _distrusted(
        self, drift: AclDrift, desired: AbstractSet[AclBinding], now_s: float
    ) -> AclDrift:
        """Return a drift with what a broker that lags may still show, or not show yet.

        It is sent again: a DENY that this server has just removed does not limit what is added
        next, and an ALLOW that it has just added is to be removed before the DENY that limits it.
        """
        if not drift:
            return drift
        recent = {
            binding: sent.adds
            for binding, sent in self._sent.items()
            if now_s - sent.sent_s < RECENT_S
        }
        added = {binding for binding, adds in recent.items() if adds}
        removed = recent.keys() - added
        return replace(
            drift,
            missing=drift.missing | (removed & desired),
            extra=drift.extra | (added - desired),
        )

    def send(self, stages: Sequence[Stage], now_s: float) -> None:
        """Take changes that are sent now; their answers may be lost."""
        oldest_s = now_s - max(RECENT_S, self._forget_s)
        while self._sent and next(iter(self._sent.values())).sent_s < oldest_s:
            self._sent.popitem(last=False)
        for adds, bindings in stages:
            for binding in bindings:
                before = self._sent.pop(binding, SentChange(adds, now_s))
                is_repetition = before.adds is adds and now_s - before.sent_s <= self._forget_s
                successes = before.successes if is_repetition else 0
                self._sent[binding] = SentChange(adds, now_s, successes)

    def refuse(self, bindings: Bindings, reason: str, now_s: float) -> None:
        """Take changes that the cluster refused, and why: they are sent again after a pause."""
        if not self._failed:
            self._failures += 1
        interval_s = self._config.interval_s
        pause_s = interval_s * 2 ** min(self._failures - 1, 20)
        self._retry_s = now_s + min(pause_s, max(_RETRY_MAX_S, interval_s))
        self._failed, self._refusal = self._failed | bindings, reason

    def record(self, bindings: Bindings) -> None:
        """Count the changes that the cluster took, of those that were sent."""
        for binding in bindings:
            sent = self._sent[binding]
            self._sent[binding] = replace(sent, successes=sent.successes + 1)
        repeated = [binding for binding in bindings if self._sent[binding].successes > REPEATS_MAX]
        if repeated:
            self.conflict = (
                f"another tool changes the same ACLs: this one was reverted {REPEATS_MAX} times:"
                f" {binding_text(min(repeated))}; no changes are made until the cluster has"
                f" had the wanted ACLs for {QUIET_INTERVALS} intervals"
            )
