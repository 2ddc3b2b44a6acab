"""What a question about the past costs beside the same question about now.

    python benchmarks/history.py                  100,000 ACLs, 1,000 and 1,000,000 changes
    python benchmarks/history.py --changes 1000 100000

The store has the ACLs, and a log of changes that have replaced them again and again. Measured, in
seconds of CPU, are the ACLs of now, read as ``doorkeeper acls`` reads them; one pass over the log;
and the states as of the middle of the log and of its end, which reads all of it. Goal: at most
twice the question about now, and one pass. The start and the memory of a server's store must not
grow with the history. Each number is the median of five.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import apsw

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.slices import run_to_end
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author, Edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import CHANGE, state_at
from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.portable import LOG
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.reading import read_acls
from doorkeeper.server.state.storage.rows import log_statements
from doorkeeper.server.state.storage.sqlite import SqliteStore, execute
from doorkeeper.server.state.store import LogEntry

AUTHOR = Author(
    "User:admin", "10.0.0.7", "PLAINTEXT", "adminclient-1", "apache-kafka-java/4.3.1", 7
)
ROUNDS = 5
BATCH = 1_000


def binding(number: int) -> StoredBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, f"topic-{number // 20}", PatternType.LITERAL)
    entry = AccessControlEntry(
        f"User:user-{number}", "*", AclOperation.READ, AclPermissionType.ALLOW
    )
    return StoredBinding(f"{number:022}", AclBinding(pattern, entry))


def fill(data_dir: Path, acls: int, changes: int) -> None:
    """Create the ACLs in one revision, then delete the oldest and create another, one by one."""
    SqliteStore(data_dir, random_bytes=os.urandom).close()
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.pragma("synchronous", "off")
    first = {ACL: Edit(tuple(binding(number) for number in range(acls)))}
    pairs = ({ACL: Edit((binding(acls + at),), (binding(at),))} for at in range(changes))
    hash_ = schema.last_hash(connection)
    entries = [LogEntry(1, AUTHOR, first)]
    for revision, change in enumerate(pairs, 2):
        entries.append(LogEntry(revision, AUTHOR, change))
        if len(entries) >= BATCH or revision == changes + 1:
            write = run_to_end(log_statements(entries, time.time_ns() // 1_000_000, hash_))
            execute(connection, write.statements)
            hash_ = write.hash
            entries = []
    connection.close()


def seconds_now(data_dir: Path) -> float:
    began_s = time.process_time()
    load((row.binding_id, row.binding) for row in read_acls(data_dir / DATABASE_NAME).bindings)
    return time.process_time() - began_s


async def seconds_pass(data_dir: Path) -> float:
    began_s = time.process_time()
    async with reading(data_dir, alone=False) as store:
        async for _ in store.rows(LOG, CHANGE):
            pass
    return time.process_time() - began_s


async def seconds_at(data_dir: Path, revision: int) -> float:
    began_s = time.process_time()
    async with reading(data_dir, alone=False) as store:
        await state_at(store, Moment(revision, None))
    return time.process_time() - began_s


START = """
import os, resource, sys, time
from pathlib import Path
from doorkeeper.server.state.state import load_snapshot, state_without_acls
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.storage.sqlite import SqliteStore, execute
began_s = time.process_time()
store = SqliteStore(Path(sys.argv[1]), random_bytes=os.urandom)
state = state_without_acls(store.revision, store.rows)
acls = load_snapshot(store.rows(ACL), lambda: False)
print(time.process_time() - began_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
store.close()
"""


def start(data_dir: Path) -> tuple[float, float]:
    """Return the seconds and the megabytes of a start."""
    done = subprocess.run(
        [sys.executable, "-c", START, str(data_dir)], capture_output=True, text=True, check=True
    )
    seconds, kib = done.stdout.split()
    return float(seconds), int(kib) / 1024


def measure(data_dir: Path, changes: int) -> tuple[float, ...]:
    """Return the seconds of now, of a pass, of two revisions and of a start, and its megabytes."""
    return (
        seconds_now(data_dir),
        asyncio.run(seconds_pass(data_dir)),
        asyncio.run(seconds_at(data_dir, changes // 2)),
        asyncio.run(seconds_at(data_dir, changes + 1)),
        *start(data_dir),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--acls", type=int, default=100_000)
    parser.add_argument("--changes", type=int, nargs="+", default=[1_000, 1_000_000])
    options = parser.parse_args()
    print(
        "| changes | now | one pass | at the middle | at the end | of the goal | start | memory |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for changes in options.changes:
        with tempfile.TemporaryDirectory() as folder:
            data_dir = Path(folder) / "data"
            fill(data_dir, options.acls, changes)
            # In turn, so that another load of the machine meets all of them.
            rounds = [measure(data_dir, changes) for _ in range(ROUNDS)]
        now_s, pass_s, middle_s, end_s, start_s, start_mb = map(median, zip(*rounds, strict=True))
        goal = end_s / (2 * now_s + pass_s)
        print(
            f"| {changes:,} | {now_s:.2f} s | {pass_s:.2f} s | {middle_s:.2f} s | {end_s:.2f} s"
            f" | {goal:.2f}"
            f" | {start_s:.2f} s | {start_mb:.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
