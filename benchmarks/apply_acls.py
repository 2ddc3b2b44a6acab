"""How long 1,000 ACLs for a cluster with 80,000 take, planned and applied, beside a call for each.

    python benchmarks/apply_acls.py [--acls N] [--added N] [--commands N] [--kafka] [--quick]

In one run, on one server: ``doorkeeper acls plan`` and ``apply`` of a file with ``owns:``, two
processes from start to end; as many other ACLs by ``doorkeeper acls add``, a process for each; and
as many by a request for each, one after the other on one connection. ``--kafka`` measures a broker
instead of Doorkeeper, and kafka-acls.sh too. Of commands ``--commands`` are measured, and the time
of all is calculated.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.properties import client_config

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from testkit.acl import READ, allow, topic
from testkit.kafka_jars import VERSIONS, jars
from testkit.kafka_target import doorkeeper_target, kafka_target
from testkit.kafka_tools import command

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

GOAL = 0.1


def bindings(prefix: str, count: int) -> list[AclBinding]:
    """Return so many ACLs on topics with a prefix."""
    return sorted(
        allow(f"user-{each % 997}", READ, topic(f"{prefix}{each:06}")) for each in range(count)
    )


def timed(words: list[str], status: int = 0) -> float:
    """Run a command; return its seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != status:
        raise SystemExit(f"{words}: status {done.returncode}: {done.stderr}")
    return time.perf_counter() - start


def acls(*words: str, status: int = 0) -> float:
    """Run a line of ``doorkeeper acls``; return its seconds."""
    return timed([sys.executable, "-m", "doorkeeper", "acls", *words], status)


async def requests(server: str, wanted: list[AclBinding]) -> float:
    """Create ACLs by a request for each, on one connection; return the seconds."""
    async with AdminClient(client_config(server)) as admin:
        await admin.cluster()
        start = time.perf_counter()
        for each in wanted:
            [result] = await admin.create_acls([each])
            assert result.error is None
        return time.perf_counter() - start


def by_commands(tool: list[str], server: str, wanted: list[AclBinding], measured: int) -> float:
    """Create ACLs by a command for each; return the seconds of all, from those measured."""
    seconds = 0.0
    for each in wanted[:measured]:
        options = ["--allow-principal", each.entry.principal, "--operation", "Read"]
        options += ["--topic", each.pattern.name, "--bootstrap-server", server]
        seconds += timed([*tool, *options])
    return seconds / measured * len(wanted)


def measure(folder: Path, chosen: argparse.Namespace) -> None:
    """Measure with one server, and print."""
    seed, team = folder / "seed.csv", folder / "team.yaml"
    seed.write_text(write(bindings("other-", chosen.acls), Format.CSV))
    text = write(bindings("team-", chosen.added), Format.YAML)
    team.write_text(text.replace("acls:", "owns: {prefixes: [team-]}\nacls:", 1))
    target = kafka_target() if chosen.kafka else doorkeeper_target()
    try:
        address = f"kafka://{target.plain}"
        acls("import", str(seed), address)
        plan = acls("plan", str(team), address, status=3)
        apply = acls("apply", str(team), address, "--yes")
        single = asyncio.run(requests(target.plain, bindings("single-", chosen.added)))
        ours = [sys.executable, "-m", "doorkeeper", "acls", "add"]
        rows = [
            ("plan and apply", plan + apply),
            ("  plan", plan),
            ("  apply", apply),
            ("a request for each", single),
            (
                "doorkeeper acls add for each",
                by_commands(ours, target.plain, bindings("ours-", chosen.added), chosen.commands),
            ),
        ]
        if chosen.kafka:
            tool = [*command(jars(VERSIONS[0]), "kafka-acls"), "--add"]
            wanted = bindings("theirs-", chosen.added)
            seconds = by_commands(tool, target.plain, wanted, min(chosen.commands, 10))
            rows.append(("kafka-acls.sh for each", seconds))
    finally:
        target.close()
    kind = "a Kafka broker" if chosen.kafka else "Doorkeeper"
    title = f"{chosen.added:,} ACLs to {chosen.acls:,}, {kind}"
    print(f"{title:48s} seconds   plan and apply are")
    for name, seconds in rows:
        ratio = f"{rows[0][1] / seconds:18.3f}" if not name.startswith(("plan", " ")) else ""
        print(f"{name:48s} {seconds:7.2f}   {ratio}")
    print(f"the goal is at most {GOAL}; of commands {chosen.commands} were measured")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=80_000)
    parser.add_argument("--added", type=int, default=1_000)
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--quick", action="store_true", help="8,000 ACLs, 5 commands")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.acls, chosen.commands = 8_000, 5
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), chosen)


if __name__ == "__main__":
    main()
