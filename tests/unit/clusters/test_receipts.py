"""Receipts of brokers that lag, or lack something."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from doorkeeper.acl.filters import matches
from doorkeeper.acl.plan import Selector, SelectorUnion
from doorkeeper.clusters import synchronization
from doorkeeper.clusters.config import ClusterConfig, EnforcementLimits, Mode
from doorkeeper.clusters.descriptions import Descriptions
from doorkeeper.clusters.remote import SentBatch
from doorkeeper.clusters.synchronization import ClusterSynchronization
from doorkeeper.kinds.acls import StoredBinding
from doorkeeper.kinds.change import SERVER, Committed, edit
from doorkeeper.kinds.declared import ACL
from doorkeeper.runtime.slices import run_to_end
from doorkeeper.state.state import EMPTY, apply
from testkit.acl import READ, allow, topic
from testkit.descriptions import answer
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    import pytest

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.clusters.drift import Bindings
    from doorkeeper.clusters.enforcement import AclEdits
    from doorkeeper.state.state import State

BROKERS = (1, 2, 3)


class Lagging:
    """A cluster whose brokers apply the changes of a log in its order, each in its own time."""

    def __init__(self, chance: Random) -> None:
        self.descriptions = Descriptions()
        self.listed: tuple[int, ...] = BROKERS
        self.reads_of = Counter[int]()
        self.skipped: set[AclBinding] = set()
        """What broker 2 does not apply, by a fault of its own."""
        self._chance = chance
        self._log: list[tuple[bool, AclBinding]] = []
        self._ends = dict.fromkeys(BROKERS, 0)

    def present(self, broker: int) -> Bindings:
        found: set[AclBinding] = set()
        for adds, binding in self._log[: self._ends[broker]]:
            if broker != 2 or binding not in self.skipped:
                (found.add if adds else found.discard)(binding)
        return frozenset(found)

    def remove_by_others(self, binding: AclBinding) -> None:
        self._log.append((False, binding))
        self._ends = dict.fromkeys(BROKERS, len(self._log))

    async def brokers(self) -> tuple[int, ...]:
        return self.listed

    async def read(self, broker: int) -> Bindings:
        self.reads_of[broker] += 1
        body = answer(sorted(self._turn(broker)))
        await asyncio.sleep(0)
        return self.descriptions.reader(broker).decode(body, 0, 3)[0]

    async def look_up(self, broker: int, wanted: AclBindingFilter) -> Bindings:
        found = self._turn(broker)
        await asyncio.sleep(0)
        return frozenset(each for each in found if matches(wanted, each))

    async def send(self, edits: AclEdits) -> AsyncIterator[SentBatch]:
        for adds, batch in edits.batches(7):
            self._log += [(adds, each) for each in batch]
            yield SentBatch(adds, batch, [None] * len(batch))

    async def close(self) -> None:
        pass

    def _turn(self, broker: int) -> Bindings:
        """Return what a broker has; it goes on some way."""
        rest = len(self._log) - self._ends[broker]
        self._ends[broker] += self._chance.choice((0, self._chance.randint(0, rest), rest))
        return self.present(broker)


class Lease:
    async def keep(self) -> bool:
        return True

    async def release(self) -> None:
        pass


class Kept:
    """A state, and the synchronization of a cluster with it."""

    def __init__(self, remote: Lagging, interval_s: float) -> None:
        self.remote = remote
        self.state: State = EMPTY
        config = ClusterConfig(
            *("a", "k:1", {}, SelectorUnion((Selector(prefixes=("p-",)),))),
            mode=Mode.ENFORCE,
            limits=EnforcementLimits(removals_max=1_000),
            interval_s=interval_s,
        )
        lease: Any = Lease()
        self.task = ClusterSynchronization(
            config,
            lease,
            target=lambda: self.state,
            on_event=lambda _: None,
            on_receipt=lambda: None,
            now_ms=count().__next__,
        )

    def change(self, added: Iterable[AclBinding] = (), removed: Iterable[AclBinding] = ()) -> None:
        rows = [[StoredBinding(repr(each), each) for each in part] for part in (added, removed)]
        change = edit(ACL, set=rows[0], deleted=rows[1])
        found = apply(self.state, change, self.state.revision + 1)
        self.state = found if isinstance(found, tuple) else run_to_end(found)
        self.task.note(Committed(self.state.revision, change, SERVER))


@asynccontextmanager
async def kept(
    remote: Lagging, monkeypatch: pytest.MonkeyPatch, interval_s: float = 0.05
) -> AsyncIterator[Kept]:
    monkeypatch.setattr(synchronization, "RemoteCluster", lambda _: remote)
    found = Kept(remote, interval_s)
    running = asyncio.create_task(found.task.run())
    yield found
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_receipt_comes_when_every_broker_has_every_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However far each of them lags, for few changes and for many."""
    chance = Random(1)
    everything = [
        allow(f"user-{user}", READ, topic(f"p-{name}")) for user in range(20) for name in range(20)
    ]
    desired: set[AclBinding] = set()
    async with kept(Lagging(chance), monkeypatch) as found:
        for _ in range(15):
            changed = chance.sample(everything, chance.choice((1, 3, 9, 40)))
            new = [each for each in changed if each not in desired]
            gone = [each for each in changed if each in desired]
            desired = (desired | set(new)) - set(gone)
            # One that is gone applies nothing meanwhile.
            found.remote.listed = chance.choice((BROKERS, BROKERS, BROKERS[:2], BROKERS[1:]))
            found.change(new, gone)

            async with asyncio.timeout(scaled(20)):
                await found.task.receipts.wait_for(found.state.revision, frozenset(changed))

            listed = found.remote.listed
            assert [each for each in listed if found.remote.present(each) != desired] == []


async def test_the_last_of_many_changes_does_not_stand_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker that has it, and lacks another one, is named."""
    many = [allow(f"user-{each}", READ, topic(f"p-{each}")) for each in range(100)]
    remote = Lagging(Random(1))
    async with kept(remote, monkeypatch) as found:
        await found.task.receipts.wait_for(0, frozenset())
        remote.skipped = {many[50]}
        found.change(many)
        waiting = asyncio.create_task(
            found.task.receipts.wait_for(found.state.revision, frozenset(many))
        )

        lacking = {2: "1 ACLs are missing, 0 are to be removed"}
        async with asyncio.timeout(scaled(20)):
            while found.task.receipts.pending != lacking:  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(0.001)

        assert not waiting.done()
        remote.skipped = set()
        async with asyncio.timeout(scaled(20)):
            await waiting
        assert remote.present(2) == frozenset(many)
