"""Who goes next."""

from __future__ import annotations

import asyncio

from doorkeeper.server.runtime.fair_queues import FairSemaphore


async def begun(turns: FairSemaphore, key: str, name: str, order: list[str]) -> None:
    await turns.acquire(key)
    order.append(name)


async def waiting(turns: FairSemaphore, names: str, order: list[str]) -> list[asyncio.Task[None]]:
    """Let each name wait in the row of its first letter."""
    tasks = [asyncio.create_task(begun(turns, name[0], name, order)) for name in names.split()]
    await asyncio.sleep(0)
    return tasks


async def test_concurrency_is_limited() -> None:
    turns, order = FairSemaphore(2), list[str]()
    tasks = await waiting(turns, "a1 a2 a3", order)

    assert order == ["a1", "a2"]
    turns.release()
    await tasks[2]
    assert order == ["a1", "a2", "a3"]


async def test_rows_take_turns() -> None:
    """Who comes alone is next, however many wait in another row."""
    turns, order = FairSemaphore(1), list[str]()
    tasks = await waiting(turns, "a1 a2 a3 a4 b1 c1", order)

    for _ in tasks:
        turns.release()
        await asyncio.sleep(0)

    assert order == ["a1", "a2", "b1", "c1", "a3", "a4"]


async def test_addresses_of_a_network_share_a_row() -> None:
    turns, order = FairSemaphore(1), list[str]()
    peers = {f"a{last}": f"2001:db8:0:1:0:0:0:{last}" for last in range(1, 5)}
    peers |= {"b1": "2001:db8:0:2:0:0:0:1", "c1": "10.0.0.1"}
    tasks = [asyncio.create_task(begun(turns, peer, at, order)) for at, peer in peers.items()]
    await asyncio.sleep(0)

    for _ in tasks:
        turns.release()
        await asyncio.sleep(0)

    assert order == ["a1", "a2", "b1", "c1", "a3", "a4"]


async def test_cancelled_waiter_is_skipped() -> None:
    turns, order = FairSemaphore(1), list[str]()
    tasks = await waiting(turns, "a1 a2 a3 b1", order)

    for gone in (tasks[1], tasks[3]):
        gone.cancel()
        await asyncio.sleep(0)
    turns.release()
    await tasks[2]

    assert order == ["a1", "a3"]
    turns.release()
    await turns.acquire("d")


async def test_turn_of_a_cancelled_waiter_is_passed_on() -> None:
    turns, order = FairSemaphore(1), list[str]()
    tasks = await waiting(turns, "a1 b1 c1", order)

    turns.release()
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert order == ["a1", "c1"]
