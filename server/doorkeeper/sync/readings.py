"""What brokers have, each asked by itself: all its ACLs, or a few.

A broker looks at each of its ACLs for each filter, so that their number counts: one for the
thousand ACLs of a new topic, or of a new principal.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.live_changes import stages
from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter, ResourcePatternFilter, exactly
from doorkeeper.sync.drift import AclDrift, compare
from doorkeeper.sync.remote import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.sync.drift import Bindings, DesiredBindings
    from doorkeeper.sync.remote import RemoteCluster

# So many filters cost a broker as much as a description of all ACLs, which also shows the
# changes of others.
FEW: Final = 8


class Readings:
    """The brokers of one cluster, compared with the desired ACLs. For the event loop's thread."""

    def __init__(
        self, remote: RemoteCluster, desired: DesiredBindings, scope: SelectorUnion
    ) -> None:
        self._remote = remote
        self._desired = desired
        self._scope = scope
        self.count = 0
        """The number of descriptions that brokers were asked for."""

    async def compare(self, broker: int) -> AclDrift | ClusterError:
        """Read all ACLs of a broker; return their drift."""
        self.count += 1
        try:
            return await self._remote.read(broker, self._desired.bindings)
        except ClusterError as error:
            return error

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
