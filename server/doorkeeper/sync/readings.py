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
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

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
        self._turn = 0
        self.brokers: tuple[int, ...] = ()
        """The brokers that the cluster listed last."""
        self.count = 0
        """The number of descriptions that brokers were asked for."""

    async def list_brokers(self) -> tuple[int, ...]:
        """Return the brokers of the cluster at the moment."""
        self.brokers = await self._remote.brokers()
        return self.brokers

    async def read(self) -> Mapping[int, AclDrift | ClusterError]:
        """Return the drift of one broker, in turns; if it has one, of all: one alone may lag."""
        brokers = await self.list_brokers()
        self._turn = (self._turn + 1) % len(brokers)
        first = brokers[self._turn]
        answers = await self.compare([first])
        # A difference, or no answer.
        if answers[first]:
            others = (*brokers[self._turn + 1 :], *brokers[: self._turn])
            answers |= await self.compare(others)
        return answers

    async def compare(self, brokers: Iterable[int]) -> dict[int, AclDrift | ClusterError]:
        """Read all ACLs of brokers; return their drifts."""

        async def read(broker: int) -> AclDrift:
            self.count += 1
            return await self._remote.read(broker, self._desired.bindings)

        return await _answers(brokers, read)

    async def lacks(
        self, brokers: Iterable[int], changed: Bindings
    ) -> dict[int, AclDrift | ClusterError]:
        """Return the drift of some ACLs on brokers; of all where that takes too many filters."""
        filters = look_ups(changed)
        if not filters:
            return await self.compare(brokers)
        desired = changed & self._desired.bindings

        async def look_up(broker: int) -> AclDrift:
            answers = (self._remote.look_up(broker, filter_) for filter_ in filters)
            present = frozenset().union(*await asyncio.gather(*answers))
            return compare(desired, changed & present, self._scope)

        return await _answers(brokers, look_up)

    async def late(self, brokers: Sequence[int], changed: Bindings) -> dict[int, str]:
        """Return the brokers that lack the last one of many changes, and the reason of each.

        Nothing is concluded for the others: it is too early to ask for all.
        """
        if len(changed) <= FEW:
            return {}
        # Brokers apply the changes in the order in which they were sent.
        desired = self._desired.bindings
        *_, (_, sent) = stages(changed & desired, changed - desired)
        late = f"not all of {len(changed)} changes are applied"
        return {
            broker: late if isinstance(answer, AclDrift) else str(answer)
            for broker, answer in (await self.lacks(brokers, frozenset(sent[-1:]))).items()
            if answer
        }


def drifts_of(answers: Mapping[int, AclDrift | ClusterError]) -> list[AclDrift]:
    """Return the drifts of the brokers that answered.

    Raises:
        ClusterError: there is none.
    """
    failures = [answer for answer in answers.values() if isinstance(answer, ClusterError)]
    if len(failures) == len(answers):
        raise ClusterError("; ".join(dict.fromkeys(map(str, failures))))
    return [answer for answer in answers.values() if not isinstance(answer, ClusterError)]


async def _answers(
    brokers: Iterable[int], ask: Callable[[int], Awaitable[AclDrift]]
) -> dict[int, AclDrift | ClusterError]:
    """Ask brokers at once; return the answer of each, or why there is none."""

    async def one(broker: int) -> tuple[int, AclDrift | ClusterError]:
        try:
            return broker, await ask(broker)
        except ClusterError as error:
            return broker, error

    return dict(await asyncio.gather(*map(one, brokers)))


def look_ups(bindings: Bindings) -> Sequence[AclBindingFilter]:
    """Return a few filters that match these ACLs and maybe others; none where it takes too many."""
    if len(bindings) <= FEW:
        return [exactly(binding) for binding in bindings]
    patterns = {binding.pattern for binding in bindings}
    if len(patterns) <= FEW:
        filters = (ResourcePatternFilter(*pattern) for pattern in patterns)
        return [AclBindingFilter(pattern, ANY_BINDING.entry) for pattern in filters]
    principals = {binding.entry.principal for binding in bindings}
    if len(principals) > FEW:
        return []
    entries = (ANY_BINDING.entry._replace(principal=principal) for principal in principals)
    return [AclBindingFilter(ANY_BINDING.pattern, entry) for entry in entries]
