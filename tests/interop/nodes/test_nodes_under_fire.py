"""Three nodes of one database under continuous changes, while everything is killed in turn."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from doorkeeper.client.errors import ClientError
from testkit.cluster import Books, Cluster, Writer
from testkit.cluster_faults import FAULTS

if TYPE_CHECKING:
    from testkit.cluster import Held
    from testkit.postgres import Postgres

pytestmark = pytest.mark.interop

NODES, WRITERS = 3, 6
QUIET_S = 40


@pytest.mark.parametrize(
    "rounds", [3, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(1500)])]
)
async def test_acknowledged_changes_exist_and_rejected_ones_do_not(
    mortal_server: Postgres, rounds: int
) -> None:
    books = Books()
    seed = 20261122
    chance = random.Random(seed)
    with Cluster(mortal_server.create_database(), NODES) as cluster:
        for number in range(rounds):
            writers = [Writer(cluster, books, number * WRITERS + at, seed) for at in range(WRITERS)]
            writing = [asyncio.ensure_future(writer.run()) for writer in writers]
            await asyncio.sleep(0.5)
            fault = FAULTS[number % len(FAULTS)] if number < 3 else chance.choice(FAULTS)
            await fault(cluster, chance)
            await asyncio.sleep(0.5)
            for writer in writers:
                writer.stopping = True
            await asyncio.gather(*writing)
            await check(cluster, books, f"round {number}, {fault.__name__}")
    print(  # noqa: T201 - shown by -s, and beside a failure
        f"{rounds} rounds: {books.acknowledged} acknowledged, {books.refused} refused,"
        f" {len(books.unknown)} of which nobody knows"
    )
    assert books.acknowledged > 50 * rounds
    assert len(books.unknown) < books.acknowledged / 10


async def check(cluster: Cluster, books: Books, where: str) -> None:
    """Compare every node, the log and the books, when all have come to rest."""
    try:
        seen = await at_rest(cluster)
    except TimeoutError:
        pytest.fail(f"{where}: the nodes do not become one\n{cluster.logs()}")
    logged, rows = cluster.of_the_log()
    assert books.errors == [], where
    assert seen == logged, where
    assert rows == len(logged), where
    revisions = cluster.revisions()
    assert revisions == list(range(1, len(revisions) + 1)), where
    assert books.held(books.present) - seen == set(), f"{where}: acknowledged and lost"
    assert books.held(books.absent) & seen == set(), f"{where}: refused or deleted, and there"


async def at_rest(cluster: Cluster) -> frozenset[Held]:
    """Return what all nodes and the log have, as soon as they have the same twice in a row."""
    before: object = None
    async with asyncio.timeout(QUIET_S):
        while True:
            try:
                seen = [await cluster.seen_by(number) for number in range(NODES)]
            except (ClientError, OSError):
                await asyncio.sleep(0.1)
                continue
            logged, _ = await asyncio.to_thread(cluster.of_the_log)
            if set(seen) == {logged} and before == logged:
                return seen[0]
            before = logged
            await asyncio.sleep(0.2)
