"""Receipts of brokers that lag, or lack something."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from testkit.acl import READ, allow, topic
from testkit.lagging_cluster import BROKERS, Lagging, kept
from testkit.load import scaled

if TYPE_CHECKING:
    import pytest

    from doorkeeper.acls.model import AclBinding


async def test_receipt_requires_every_change_on_every_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
            found.remote.nodes = chance.choice((BROKERS, BROKERS, BROKERS[:2], BROKERS[1:]))
            found.change(new, gone)

            async with asyncio.timeout(scaled(20)):
                await found.task.receipts.wait_for(found.state.revision, frozenset(changed))

            listed = found.remote.nodes
            assert [each for each in listed if found.remote.present(each) != desired] == []


async def test_broker_that_lacks_a_change_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = [allow(f"user-{each}", READ, topic(f"p-{each}")) for each in range(100)]
    remote = Lagging(Random(1))
    async with kept(remote, monkeypatch) as found:
        await found.task.receipts.wait_for(1, frozenset())
        remote.skipped = {many[50]}
        found.change(many)
        waiting = asyncio.create_task(
            found.task.receipts.wait_for(found.state.revision, frozenset(many))
        )

        lacking = {2: "1 ACLs are missing, 0 must be removed"}
        async with asyncio.timeout(scaled(20)):
            while found.task.receipts.pending != lacking:
                await asyncio.sleep(0.001)

        assert not waiting.done()
        remote.skipped = set()
        async with asyncio.timeout(scaled(20)):
            await waiting
        assert remote.present(2) == frozenset(many)
