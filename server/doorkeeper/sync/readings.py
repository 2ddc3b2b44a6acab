"""What brokers have, each asked by itself: all its ACLs, or a few.

A broker looks at each of its ACLs for each filter, so that their number counts: one for the
thousand ACLs of a new topic, or of a new principal.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.live_changes import stages
from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter, ResourcePatternFilter, exactly
from doorkeeper.acls.plan import EVERYTHING
from doorkeeper.sync.drift import NO_BINDINGS, NO_DRIFT, AclDrift, compare
from doorkeeper.sync.remote import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.sync.descriptions import Descriptions
    from doorkeeper.sync.drift import Bindings, DesiredBindings, DesiredChange
    from doorkeeper.sync.remote import RemoteCluster

# So many filters cost a broker as much as a description of all ACLs, which also shows the
# changes of others.
FEW: Final = 8

# A change of so many takes the event loop some milliseconds; a thread compares after larger ones.
_STEP_MAX: Final = 5_000


class Readings:
    """The brokers of one cluster, compared with the desired ACLs. For the event loop's thread."""

    def __init__(
        self, remote: RemoteCluster, desired: DesiredBindings, scope: SelectorUnion
    ) -> None:
        self._remote = remote
        self._desired = desired
        self._scope = scope
        self.comparison = IncrementalComparison(scope, remote.descriptions)
        self.count = 0
        """The number of descriptions that brokers were asked for."""

    async def compare(self, broker: int) -> AclDrift | ClusterError:
        """Read all ACLs of a broker; return their drift."""
        self.count += 1
        try:
            found = await self._remote.read(broker)
        except ClusterError as error:
            return error
        return await self.comparison.drift(self._desired.bindings, found)

    async def lacks(
        self, broker: int, changed: Bindings, filters: Sequence[AclBindingFilter]
    ) -> AclDrift | ClusterError:
        """Return the drift of some ACLs on a broker."""
        present = await self.holds(broker, changed, filters)
        if isinstance(present, ClusterError):
            return present
        return compare(changed & self._desired.bindings, present, self._scope)

    async def holds(
        self, broker: int, bindings: Bindings, filters: Sequence[AclBindingFilter]
    ) -> Bindings | ClusterError:
        """Return which of some ACLs a broker has; the filters match them all."""
        try:
            found = await asyncio.gather(*(self._remote.look_up(broker, each) for each in filters))
        except ClusterError as error:
            return error
        return bindings.intersection(frozenset().union(*found))

    async def late(self, brokers: Sequence[int], changed: Bindings) -> dict[int, str]:
        """Return the brokers that lack the last one of many changes, and the reason of each.

        Nothing is concluded for the others: it is too early to ask for all.
        """
        if len(changed) <= FEW:
            return {}
        # Brokers apply the changes in the order in which they were sent.
        desired = self._desired.bindings
        *_, (_, sent) = stages(changed & desired, changed - desired)
        last = frozenset(sent[-1:])
        found = await asyncio.gather(*(self.lacks(each, last, look_ups(last)) for each in brokers))
        late = f"not all of {len(changed)} changes are applied"
        reasons = {
            broker: late if isinstance(each, AclDrift) and each else reason_of(each)
            for broker, each in zip(brokers, found, strict=True)
        }
        return {broker: reason for broker, reason in reasons.items() if reason}


def look_ups(bindings: Bindings) -> Sequence[AclBindingFilter]:
    """Return a few filters that match these ACLs and maybe others; none where it takes too many."""
    if len(bindings) <= FEW:
        return [exactly(each) for each in bindings]
    patterns = {each.pattern for each in bindings}
    if len(patterns) <= FEW:
        return [
            AclBindingFilter(ResourcePatternFilter(*each), ANY_BINDING.entry) for each in patterns
        ]
    principals = {each.entry.principal for each in bindings}
    if len(principals) <= FEW:
        return [
            AclBindingFilter(ANY_BINDING.pattern, ANY_BINDING.entry._replace(principal=principal))
            for principal in principals
        ]
    return []


def reason_of(found: AclDrift | ClusterError) -> str:
    """Return why a broker does not enforce the desired ACLs; empty if it does."""
    if isinstance(found, ClusterError):
        return str(found)
    if not found:
        return ""
    return f"{len(found.missing)} ACLs are missing, {len(found.extra)} are to be removed"


class IncrementalComparison:
    """The drift that descriptions of a cluster show; of each, only changes are compared.

    Two equal sets of 100,000 bindings take a tenth of a second to compare, as equal bindings of
    both are different objects. For the event loop's thread.
    """

    def __init__(self, scope: SelectorUnion, descriptions: Descriptions) -> None:
        self._scope = scope
        self._descriptions = descriptions
        self._found: Bindings | None = None
        self._drift = NO_DRIFT
        self._is_everything = EVERYTHING in scope.selectors
        self._outside: set[AclBinding] | None = set()
        """The ACLs outside of the scope; None until they are sought in ``_found``."""

    def note(self, goal: DesiredChange) -> None:
        """Take a change of the desired bindings."""
        if self._found is not None:
            self._drift = self._drift.after_goal(goal)

    async def drift(self, desired: AbstractSet[AclBinding], found: Bindings) -> AclDrift:
        """Return the drift of the bindings that a description has."""
        change = None
        if self._found is not None:
            change = self._descriptions.change(self._found, found)
        if change is None or len(change.added) + len(change.removed) > _STEP_MAX:
            drift = await asyncio.to_thread(compare, desired, found, self._scope)
        else:
            drift = self._after(desired, change.added, change.removed)
        if change is None or change.added or change.removed:
            self._outside = None
        self._found, self._drift = found, drift
        return drift

    def note_outside(self, binding: AclBinding, *, is_there: bool) -> None:
        """Take a change of an ACL outside of the scope since the last description."""
        outside = self.outside()
        (outside.add if is_there else outside.discard)(binding)

    def outside(self) -> set[AclBinding]:
        """Return the ACLs of the cluster outside of the scope: 0.1 s for 100,000, once."""
        if self._outside is None:
            found = NO_BINDINGS if self._is_everything else self._found or NO_BINDINGS
            self._outside = {each for each in found if not self._scope.selects(each)}
        return self._outside

    def _after(
        self, desired: AbstractSet[AclBinding], added: Bindings, removed: Bindings
    ) -> AclDrift:
        selects = self._scope.selects
        mine, gone = frozenset(filter(selects, added)), frozenset(filter(selects, removed))
        drift = self._drift.after_edit(desired, mine, gone)
        others = (len(added) - len(mine)) - (len(removed) - len(gone))
        return drift._replace(outside=drift.outside + others)
