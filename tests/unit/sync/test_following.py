"""The metadata log of a scripted controller, followed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.plan import EVERYTHING, SelectorUnion
from doorkeeper.base.slices import run_to_end
from doorkeeper.client.logged_acls import LogAcls
from doorkeeper.sync.config import ClusterConfig
from doorkeeper.sync.following import LogFollower
from doorkeeper_wire.errors import Malformed
from testkit.acl import READ, allow, topic
from testkit.load import scaled
from testkit.scripted_controller import (
    CREDENTIAL,
    EPOCH,
    ScriptedController,
    added,
    batch,
    removed,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

A, B, C = (allow(name, READ, topic("pay-in")) for name in ("alice", "bob", "carol"))


@pytest.fixture
async def controller() -> AsyncIterator[ScriptedController]:
    async with ScriptedController() as found:
        yield found


class Followed:
    """A follower, and the changes that it has told."""

    def __init__(self, *addresses: str) -> None:
        config = ClusterConfig(
            "a", "k:1", {}, SelectorUnion((EVERYTHING,)), controllers=",".join(addresses)
        )
        self.told = asyncio.Event()
        self.follower = LogFollower(config, self.told.set)

    async def until(self, holds: Callable[[LogFollower], bool]) -> None:
        """Wait until something holds."""
        self.follower.start()
        async with asyncio.timeout(scaled(20)):
            while not holds(self.follower):
                await self.told.wait()
                self.told.clear()


async def test_changes_are_read_from_the_log(controller: ScriptedController) -> None:
    controller.append(added(1, A), CREDENTIAL, added(2, B))
    found = Followed(controller.address)
    try:
        await found.until(lambda each: each.is_following)
        assert found.follower.changes == {A: True, B: True}
        found.follower.changes.clear()

        controller.append(removed(1), added(3, C))
        await found.until(lambda each: bool(each.changes))
        assert found.follower.changes == {A: False, C: True}
        fetches = [each for each in controller.asked if hasattr(each, "max_wait_ms")]
        (last,) = fetches[-1].topics[0].partitions
        assert (last.fetch_offset, last.last_fetched_epoch) == (3, EPOCH)
        assert last.current_leader_epoch == EPOCH
        assert fetches[-1].replica_id == -1
    finally:
        await found.follower.stop()


async def test_only_committed_records_are_applied(controller: ScriptedController) -> None:
    controller.append(added(1, A))
    controller.append(added(2, B), is_committed=False)
    found = Followed(controller.address)
    try:
        await found.until(lambda each: each.is_following)
        assert found.follower.changes == {A: True}
        controller.commit()
        await found.until(lambda each: B in each.changes)
    finally:
        await found.follower.stop()


async def test_snapshot_replaces_earlier_records(controller: ScriptedController) -> None:
    controller.start = controller.high_watermark = 40
    controller.snapshot = batch(0, added(1, A), CREDENTIAL) + batch(2, added(2, B))
    controller.append(removed(1))
    found = Followed(controller.address)
    try:
        await found.until(lambda each: each.is_following)
        assert found.follower.changes == {A: False, B: True}
    finally:
        await found.follower.stop()


@pytest.mark.parametrize("code", [29, 31])
async def test_rejection_falls_back_to_polling(controller: ScriptedController, code: int) -> None:
    controller.error = code
    found = Followed(controller.address)
    try:
        await found.until(lambda each: each.reason != "not started")
        assert not found.follower.is_following
        assert "uthorization" in found.follower.reason
    finally:
        await found.follower.stop()


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\x02\x12\x00",
        b"\x01\x12\x01" + added(1, A)[3:],
        added(1, A)[:-9],
        b"\x01\x13\x00" + bytes(15),
    ],
)
async def test_malformed_record_falls_back_to_polling(
    controller: ScriptedController, record: bytes
) -> None:
    controller.append(record)
    found = Followed(controller.address)
    try:
        await found.until(lambda each: each.reason != "not started")
        assert found.follower.reason.startswith("cannot read the log: ")
        assert found.follower.changes == {}
    finally:
        await found.follower.stop()


async def test_leader_is_discovered(controller: ScriptedController) -> None:
    async with ScriptedController() as gone:
        pass
    async with ScriptedController() as other:
        other.quorum_error = 6
        found = Followed(gone.address, other.address, controller.address)
        try:
            await found.until(lambda each: each.is_following)
        finally:
            await found.follower.stop()


def test_transactions_are_applied_at_commit() -> None:
    begin, end, abort = b"\x01\x17\x00\0", b"\x01\x18\x00\0", b"\x01\x19\x00\0"
    acls = LogAcls()

    run_to_end(acls.apply(batch(0, begin, added(1, A)), 2))
    assert acls.bindings == {}
    run_to_end(acls.apply(batch(2, end, begin, added(2, B), abort, added(3, C)), 7))

    assert set(acls.bindings.values()) == {A, C}
    assert acls.position == (7, EPOCH)


def test_batch_is_applied_once_up_to_the_high_watermark() -> None:
    acls = LogAcls()
    data = batch(0, added(1, A), removed(1), added(2, B))

    run_to_end(acls.apply(data, 2))
    assert (acls.bindings, acls.position.offset) == ({}, 2)
    run_to_end(acls.apply(data, 3))
    assert list(acls.bindings.values()) == [B]
    run_to_end(acls.apply(data[:-1], 3))
    assert acls.position.offset == 3


def test_compressed_batch_is_rejected() -> None:
    data = batch(0, added(1, A))

    with pytest.raises(Malformed):
        run_to_end(LogAcls().apply(data[:22] + b"\x01" + data[23:], 1))
