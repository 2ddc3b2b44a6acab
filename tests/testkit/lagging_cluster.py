"""A simulated cluster whose brokers lag, and the synchronization that keeps it.

Each broker applies the changes of one log in its order, each in its own time.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from doorkeeper.acls.filters import matches
from doorkeeper.acls.live_changes import LiveCluster, RemovalLimits
from doorkeeper.acls.plan import Selector, SelectorUnion
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.client.admin import Created, Deleted
from doorkeeper.client.config import Address
from doorkeeper.client.errors import ConnectionLost
from doorkeeper.client.nodes import Cluster
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper.sync import synchronization
from doorkeeper.sync.config import ClusterConfig
from doorkeeper.sync.remote import RemoteCluster
from doorkeeper.sync.synchronization import ClusterSynchronization
from testkit.descriptions import answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from random import Random

    import pytest

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent
    from doorkeeper.server.state.state import State
    from doorkeeper.sync.drift import AclDrift, Bindings
    from doorkeeper.sync.fleet import ClusterFleet
    from doorkeeper.sync.remote import DescriptionReader

BROKERS = (1, 2, 3)
STORE_ID = "s" * 22
BATCH = 7


class Lagging:
    """A cluster whose brokers apply the changes of a log in its order, each in its own time."""

    def __init__(self, chance: Random, present: Iterable[AclBinding] = ()) -> None:
        self.nodes: tuple[int, ...] = BROKERS
        """The brokers that the cluster lists."""
        self.live = LiveCluster()
        self.skipped: set[AclBinding] = set()
        """What broker 2 does not apply, by a fault of its own."""
        self.refuses: Callable[[AclBinding], ErrorCode | None] = lambda _: None
        self.loses: Callable[[], bool] = lambda: False
        """Whether the answer to a batch is lost; its changes are made, or are not."""
        self.fails: Callable[[], bool] = lambda: False
        """Whether a broker does not answer a question."""
        self.sent = 0
        """The number of batches that were sent."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after each change of the log."""
        self._chance = chance
        self._log: list[tuple[bool, AclBinding]] = [(True, each) for each in present]
        self._ends = dict.fromkeys(BROKERS, len(self._log))

    def present(self, broker: int) -> Bindings:
        found: set[AclBinding] = set()
        for adds, binding in self._log[: self._ends[broker]]:
            if broker != 2 or binding not in self.skipped:
                (found.add if adds else found.discard)(binding)
        return frozenset(found)

    @property
    def newest(self) -> Bindings:
        """Return the ACLs after the whole log."""
        found: set[AclBinding] = set()
        for adds, binding in self._log:
            (found.add if adds else found.discard)(binding)
        return frozenset(found)

    def catch_up(self) -> None:
        """Let all brokers apply the whole log."""
        self._ends = dict.fromkeys(BROKERS, len(self._log))

    async def cluster(self) -> Cluster:
        return Cluster("", -1, dict.fromkeys(self.nodes, Address("k", 1)))

    async def call(self, _request: object, reader: DescriptionReader, *, node_id: int) -> AclDrift:
        """Describe all ACLs of a broker."""
        body = answer(sorted(self._turn(node_id)))
        await asyncio.sleep(0)
        return reader.decode(body, 0, 3)[0]

    async def describe_acls(self, filter: AclBindingFilter, *, node_id: int) -> list[AclBinding]:
        found = self._turn(node_id)
        await asyncio.sleep(0)
        return [each for each in found if matches(filter, each)]

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[Created]:
        return [Created(error) for error in await self._change(bindings, adds=True)]

    async def delete_acls(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        bindings = [cast("AclBinding", filter) for filter in filters]
        return [Deleted(error) for error in await self._change(bindings, adds=False)]

    async def _change(self, bindings: Sequence[AclBinding], *, adds: bool) -> list[ApiError | None]:
        self.sent += 1
        is_lost = self.loses()
        codes = [self.refuses(each) for each in bindings]
        if not is_lost or self._chance.random() < 0.5:
            for binding, code in zip(bindings, codes, strict=True):
                if code is None:
                    self._log.append((adds, binding))
                    self.on_change()
        await asyncio.sleep(0)
        if is_lost:
            raise ConnectionLost("the answer is lost")
        return [None if code is None else ApiError(code) for code in codes]

    async def close(self) -> None:
        pass

    def _turn(self, broker: int) -> Bindings:
        """Return what a broker has; it goes on some way."""
        if self.fails():
            raise ConnectionLost("no answer")
        rest = len(self._log) - self._ends[broker]
        self._ends[broker] += self._chance.choice((0, self._chance.randint(0, rest), rest))
        return self.present(broker)


class LaggingRemote(RemoteCluster):
    """What a synchronization has of such a cluster."""

    def __init__(
        self,
        config: ClusterConfig,
        desired: AbstractSet[AclBinding],
        on_drift: Callable[[Bindings], None],
        cluster: Lagging,
    ) -> None:
        super().__init__(config, desired, on_drift)
        self._cluster = cluster

    def _open(self) -> AdminClient:
        return cast("AdminClient", self._cluster)

    async def facts(self, _now_s: float) -> LiveCluster:
        return self._cluster.live


SCOPE = SelectorUnion((Selector(prefixes=("p-",)),))


class Kept:
    """A state, and the synchronization of a cluster with it; it is the fleet, log and store."""

    def __init__(
        self,
        remote: Lagging,
        interval_s: float,
        *,
        scope: SelectorUnion = SCOPE,
        store_id: str = STORE_ID,
        **keys: Any,
    ) -> None:
        self.remote = remote
        self.state: State = EMPTY
        self.events: list[ClusterEvent] = []
        config = ClusterConfig(
            *("a", "k:1", {}, scope),
            store=STORE_ID,
            interval_s=interval_s,
            **{
                "mode": "enforce",
                "limits": RemovalLimits(1_000, 1.0),
                "batch": BATCH,
                **keys,
            },
        )
        self.is_claimed = True
        self.log = self.store = self
        self.store_id = store_id
        self.tell = self.events.append
        self.now_ms = count().__next__
        self.task = ClusterSynchronization(config, cast("ClusterFleet", self))

    async def claim(self, _name: str) -> bool:
        return self.is_claimed

    async def release(self, _name: str) -> None:
        """Leave nothing: there is one node."""

    def target_of(self, _config: ClusterConfig) -> State:
        return self.state

    def is_canary(self, _config: ClusterConfig) -> bool:
        return False

    def wake_followers(self) -> None:
        """Wake nothing: there is one cluster."""

    def change(self, added: Iterable[AclBinding] = (), removed: Iterable[AclBinding] = ()) -> None:
        rows = [[StoredBinding(repr(each), each) for each in part] for part in (added, removed)]
        change = edit(ACL, set=rows[0], deleted=rows[1])
        self.state = apply_at_once(self.state, change, self.state.revision + 1)
        self.task.wake()


@asynccontextmanager
async def kept(
    remote: Lagging,
    monkeypatch: pytest.MonkeyPatch,
    interval_s: float = 0.05,
    *,
    acls: Iterable[AclBinding] = (),
    **keys: Any,
) -> AsyncIterator[Kept]:
    """Run the synchronization of a cluster with a state of these ACLs."""
    monkeypatch.setattr(
        synchronization,
        "RemoteCluster",
        lambda config, desired, on_drift: LaggingRemote(config, desired, on_drift, remote),
    )
    found = Kept(remote, interval_s, **keys)
    found.change(acls)
    found.task.start()
    try:
        yield found
    finally:
        await found.task.stop()
