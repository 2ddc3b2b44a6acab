"""The changes of a cluster that remove its drift: which are made, and which are held back.

``acls.live_changes`` decides, with what is known here of the past: changes of others, which are
made undone or only reported; refused changes, which are tried again after growing pauses; changes
that have to be repeated again and again, for another controller undoes them: then enforcement
stops; and changes that were sent a moment ago, which no reading proves. Times come with the calls.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import Held, LiveChange, Rule, binding_text, judge
from doorkeeper.sync.drift import NO_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.live_changes import LiveCluster, Stage
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import AclDrift, Bindings

REPEATS_MAX: Final = 10
"""So many repetitions of one change are the work of another controller."""

QUIET_INTERVALS: Final = 10
"""After so many intervals the repetitions of a change are forgotten, and a conflict ends."""

RECENT_S: Final = 60.0
"""So long after a request a broker may lag, or the request be applied late.

One that lags longer is fenced, and not asked (``broker.session.timeout.ms``: 9 s).
"""

_INITIAL: Final = (
    "{} ACLs that the store lacks were there when this server took the cluster: others have added"
    " them, or they were revoked while no server ran; they are only reported"
)

_RETRY_MAX_S: Final = 300.0
"""The longest pause before a refused change is sent again, unless the interval is longer."""


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
        self._own: Bindings | None = None
        """What may differ by this server: the drift of the last reading but for changes of others,
        and what became desired or undesired since; None before the first reading."""
        self._agrees_since_s: float | None = None
        """When the first reading since the last drift agreed."""
        self._sent: OrderedDict[AclBinding, SentChange] = OrderedDict()
        """The requests of some time, also lost ones, the oldest first."""
        self._failed: Bindings = NO_BINDINGS
        """The changes that the cluster refused; they are not sent before ``_retry_s``."""
        self._pause_s = 0.0
        self._retry_s = 0.0
        self._refusal = ""
        self.foreign: Bindings = NO_BINDINGS
        """The part of the drift that others caused."""
        self._initial: Bindings = NO_BINDINGS
        """What was there at the first reading: of others, or revoked while no server ran."""
        self.conflict = ""
        """Why enforcement has stopped; empty if it has not."""

    def note(self, bindings: Bindings) -> None:
        """Take what became desired or undesired: it differs by this server."""
        if self._own is not None:
            self._own |= bindings

    def forget(self) -> None:
        """Go on with a first reading: another node has changed the cluster."""
        self._own = None

    def observe(self, drift: AclDrift, now_s: float) -> None:
        """Find the changes of others since the last reading."""
        parts = drift.parts
        if self._own is None:
            # Others may have added ACLs; those that lack may be new here.
            self.foreign = self._initial = drift.extra
        else:
            self.foreign = parts - self._own
            self._initial &= self.foreign
        self._own = parts - self.foreign
        if now_s >= self._retry_s or not parts & self._failed:
            self._failed = NO_BINDINGS
        if drift:
            self._agrees_since_s = None
            return
        self._pause_s = 0.0
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
    ) -> LiveChange:
        """Return the changes that remove a drift."""
        drift = self._distrusted(drift, desired, now_s)
        parts, config = drift.parts, self._config
        if self.conflict:
            return LiveChange(held=(Held(Rule.RIVAL, parts, self.conflict),))
        left = self.foreign & parts if config.foreign == "report" else NO_BINDINGS
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
        initial, by_others = left & self._initial, left - self._initial
        held = (
            Held(Rule.FOREIGN, by_others, f"{len(by_others)} changes by others are only reported"),
            Held(Rule.FOREIGN, initial, _INITIAL.format(len(initial))),
            Held(Rule.REFUSED, failed, self._refusal),
        )
        return replace(change, held=(*(hold for hold in held if hold.bindings), *change.held))

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
        interval_s = self._config.interval_s
        if not self._failed:
            longest_s = max(_RETRY_MAX_S, interval_s)
            self._pause_s = min(2 * self._pause_s or interval_s, longest_s)
        self._retry_s = now_s + self._pause_s
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
