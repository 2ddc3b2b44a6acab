"""The updates in flight, as metrics count them and draining waits for them."""

from __future__ import annotations

import asyncio

from doorkeeper.api.node import ACL_UPDATE, OPERATIONS
from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.net.context import PendingUpdates
from testkit.channels import World
from testkit.edge import HandAuthorizer, create, until


async def test_updates_and_items_are_counted_by_operation() -> None:
    """Each counts under its operation with its items, until its task ends."""
    pending: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    world = World(authorizer=HandAuthorizer(lambda bindings: [pending] * len(bindings)))
    channels = [world.connect()[0] for _ in range(2)]

    channels[0].data_received(create(["a", "b"]))
    channels[1].data_received(create(["c"]))

    updates = world.context.updates
    assert len(updates) == 2
    assert updates.updates == dict.fromkeys(OPERATIONS, 0) | {ACL_UPDATE: 2}
    assert updates.items == dict.fromkeys(OPERATIONS, 0) | {ACL_UPDATE: 3}
    pending.set_result(AclCreateResult())
    await until(lambda: not updates)
    assert (sum(updates.updates.values()), sum(updates.items.values())) == (0, 0)


async def test_waiting_for_none_ends_with_the_last_update() -> None:
    """It ends at once where there is none."""
    pending: asyncio.Future[AclCreateResult] = asyncio.get_running_loop().create_future()
    world = World(authorizer=HandAuthorizer(lambda _: [pending]))
    world.connect()[0].data_received(create(["a"]))
    waiting = asyncio.create_task(world.context.updates.wait_for_none())
    await asyncio.sleep(0)
    assert not waiting.done()

    pending.set_result(AclCreateResult())

    await waiting
    await PendingUpdates().wait_for_none()
