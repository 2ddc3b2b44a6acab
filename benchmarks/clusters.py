"""How long a change takes until every broker of a cluster enforces it, beside the bare batches.

    python benchmarks/clusters.py [--acls N] [--rounds N] [--quick]

In one run, on one broker: CreateAcls to a Doorkeeper with ``doorkeeper.acknowledge=clusters``,
which answers when the broker enforces the ACLs; in turn the same batches of other ACLs, outside of
the scope, sent to the broker, which answers when its controller has stored them. First 500
principals with 10 ACLs each for a cluster that is emptied before each round, then 1,000 ACLs for
one with ``--acls``: of one principal, of one topic, and of as many principals as topics.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.acl import READ, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.kafka_target import STANDARD, kafka_target
from testkit.synchronized import store_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclBinding

SECONDS_GOAL = 2.0
RATIO_GOAL = 2.0
BATCH = 1_000
PAUSE_S = 0.2
_numbers = count()


def of_one_principal(prefix: str, size: int) -> list[AclBinding]:
    """Return ACLs of many topics."""
    name = f"user-{next(_numbers)}"
    return [allow(name, READ, topic(f"{prefix}{name}-{each}")) for each in range(size)]


def of_one_topic(prefix: str, size: int) -> list[AclBinding]:
    """Return ACLs of many principals."""
    name = f"topic-{next(_numbers)}"
    return [allow(f"{name}-{each}", READ, topic(f"{prefix}{name}")) for each in range(size)]


def of_many(prefix: str, size: int) -> list[AclBinding]:
    """Return ACLs of as many principals as topics."""
    name = f"many-{next(_numbers)}"
    return [allow(f"{name}-{each}", READ, topic(f"{prefix}{name}-{each}")) for each in range(size)]


def of_500_principals(prefix: str, size: int) -> list[AclBinding]:
    """Return ACLs of 500 principals."""
    name = f"fleet-{next(_numbers)}"
    return [
        allow(f"{name}-{each % 500}", READ, topic(f"{prefix}{name}-{each // 10}"))
        for each in range(size)
    ]


async def create(admin: AdminClient, bindings: Sequence[AclBinding]) -> float:
    """Create ACLs in batches; return the seconds."""
    start = time.perf_counter()
    for at in range(0, len(bindings), BATCH):
        results = await admin.create_acls(bindings[at : at + BATCH])
        assert {each.error for each in results} == {None}
    return time.perf_counter() - start


async def compare(
    ours: AdminClient, theirs: AdminClient, make: Callable[[str, int], list[AclBinding]], size: int
) -> tuple[float, float]:
    """Return the seconds until the broker enforces ACLs, and those of the bare batches."""
    in_force = await create(ours, make("pay-", size))
    # What is in force is also confirmed: the rest of the work of one must not delay the other.
    await asyncio.sleep(PAUSE_S)
    bare = await create(theirs, make("bare-", size))
    await asyncio.sleep(PAUSE_S)
    return in_force, bare


async def empty(ours: AdminClient, theirs: AdminClient) -> None:
    """Remove all ACLs."""
    for admin in (ours, theirs):
        (deleted,) = await admin.delete_acls([ANY_BINDING])
        assert deleted.error is None


async def measure(ours: str, theirs: str, acls: int, rounds: int) -> None:
    """Measure, and print."""
    title = "in turn, medians"
    print(f"{title:58s} in force    bare   ratio")
    async with (
        AdminClient(ClientConfig(bootstrap=ours, request_timeout_ms=60_000)) as mine,
        AdminClient(ClientConfig(bootstrap=theirs, request_timeout_ms=60_000)) as bare,
    ):
        await compare(mine, bare, of_one_topic, 10)
        found = []
        for _ in range(rounds):
            await empty(mine, bare)
            found.append(await compare(mine, bare, of_500_principals, 5_000))
        report("500 principals with 10 ACLs, to none", found)
        # As many stand there already, of the last round.
        for _ in range(10_000, acls, 5_000):
            await create(mine, of_500_principals("pay-", 5_000))
        for name, make in (
            ("of one principal", of_one_principal),
            ("of one topic", of_one_topic),
            ("of as many principals as topics", of_many),
        ):
            found = [await compare(mine, bare, make, 1_000) for _ in range(rounds)]
            report(f"1,000 ACLs {name}, to {acls:,}", found)
    print(f"goals: at most {SECONDS_GOAL:.0f} s more, and at most {RATIO_GOAL:.0f} times as long")


def report(name: str, found: Sequence[tuple[float, float]]) -> None:
    """Print one row."""
    in_force, bare = (median(times) for times in zip(*found, strict=True))
    print(f"{name:58s} {in_force:8.2f} {bare:7.2f} {in_force / bare:7.1f}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=80_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="5,000 ACLs, 3 rounds")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.acls, chosen.rounds = 5_000, 3
    kafka = kafka_target()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        clusters = Path(folder) / "clusters.yaml"
        entry = {
            "name": "a",
            "bootstrap": kafka.plain,
            "mode": "enforce",
            "scope": {"prefixes": ["pay-"]},
            "limits": {"max.removals": 1_000_000},
        }

        def write() -> None:
            clusters.write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")

        write()
        properties = {
            "listeners": f"PLAINTEXT://localhost:{port}",
            "authorizer.class.name": STANDARD,
            "super.users": "User:ANONYMOUS",
            "doorkeeper.clusters.file": str(clusters),
            "doorkeeper.acknowledge": "clusters",
        }
        server = DoorkeeperServer(properties, ports=(port,))
        try:
            server.start()
            # A cluster belongs to the store that its entry names.
            entry["store"] = store_id_of(server.folder / "data")
            write()
            server.stop()
            server.start()
            asyncio.run(measure(f"localhost:{port}", kafka.plain, chosen.acls, chosen.rounds))
        finally:
            server.close()
            kafka.close()


if __name__ == "__main__":
    main()
