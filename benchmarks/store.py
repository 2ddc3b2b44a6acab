"""The embedded store against one commit for each change, with the same SQLite, in the same run.

    python benchmarks/store.py [--folder DIR] [--seconds S] [--quick]

Acknowledged changes a second, one binding each, with 1, 32 and 256 in flight; beside it the same
tables written by a thread that commits every change by itself. Then ten thousand bindings in one
change, the load of a hundred thousand, and the store beside a loop that never rests.
The numbers are those of this disk: a sync that a host caches is cheap.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from uuid import UUID

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
from doorkeeper.server.schema.change import Author, Change, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.storage.database import connect
from doorkeeper.server.state.storage.rows import log_statements
from doorkeeper.server.state.storage.schema import create
from doorkeeper.server.state.storage.sqlite import SqliteStore, execute
from doorkeeper.server.state.store import LogEntry, new_identity

AUTHOR = Author("User:admin", "127.0.0.1", "PLAINTEXT", "adminclient-1")
NO_BATCH = UUID(int=0)
IN_FLIGHT = (1, 32, 256)
BULK = 10_000
LOAD = 100_000

Submit = Callable[[Change], asyncio.Future[int]]


def now_ms() -> int:
    """Return the time, as the server gives it to the store."""
    return time.time_ns() // 1_000_000


def binding(number: int) -> StoredBinding:
    """Return a binding with a random id, as the engine makes them."""
    return StoredBinding(
        os.urandom(11).hex(),
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, f"orders-{number}", PatternType.LITERAL),
            AccessControlEntry(
                f"User:service-{number % 997}",
                "*" if number % 10 else f"10.0.{number % 250}.1",
                AclOperation.READ,
                AclPermissionType.ALLOW,
            ),
        ),
    )


def adding(numbers: Iterator[int], count: int) -> Change:
    """Return a change that adds the next so many bindings."""
    chosen = itertools.islice(numbers, count)
    return edit(ACL, set=(binding(number) for number in chosen))


@asynccontextmanager
async def group_commit(folder: Path) -> AsyncIterator[Submit]:
    """Give the store that the server uses; what waits is one commit, as the state log has it."""
    store = SqliteStore(folder, now_ms=now_ms, random_bytes=os.urandom)
    loop = asyncio.get_running_loop()
    store.start(loop)
    lease = await store.lease().__aenter__()
    waiting: list[tuple[Change, asyncio.Future[int]]] = []
    batch: list[tuple[Change, asyncio.Future[int]]] = []
    revisions = itertools.count(1)

    def submit(change: Change) -> asyncio.Future[int]:
        done: asyncio.Future[int] = loop.create_future()
        waiting.append((change, done))
        if not batch:
            write()
        return done

    def write() -> None:
        batch[:], waiting[:] = waiting[:], []
        entries = [LogEntry(next(revisions), AUTHOR, change) for change, _ in batch]
        asyncio.ensure_future(lease.commit(entries, NO_BATCH)).add_done_callback(finish)

    def finish(written: asyncio.Future[None]) -> None:
        written.result()
        finished, batch[:] = batch[:], []
        if waiting:
            write()
        for _, done in finished:
            done.set_result(0)

    yield submit
    await store.aclose()


@asynccontextmanager
async def commit_each(folder: Path) -> AsyncIterator[Submit]:
    """Give the baseline: the same tables and settings, a thread, a commit for each change."""
    folder.mkdir()  # noqa: ASYNC240 - nothing else runs yet
    connection = connect(folder / "doorkeeper.db")
    create(connection, new_identity(os.urandom), now_ms())
    connection.pragma("wal_autocheckpoint", 1000)
    loop = asyncio.get_running_loop()
    waiting: SimpleQueue[tuple[Change, asyncio.Future[int]] | None] = SimpleQueue()

    def run() -> None:
        hash_ = ""
        for revision in itertools.count(1):
            item = waiting.get()
            if item is None:
                return
            entries = [LogEntry(revision, AUTHOR, item[0])]
            write = run_to_end(log_statements(entries, now_ms(), hash_))
            execute(connection, write.statements)
            hash_ = write.hash
            loop.call_soon_threadsafe(item[1].set_result, revision)

    def submit(change: Change) -> asyncio.Future[int]:
        done: asyncio.Future[int] = loop.create_future()
        waiting.put((change, done))
        return done

    thread = Thread(target=run)
    thread.start()
    yield submit
    waiting.put(None)
    thread.join()
    connection.close()


async def acknowledged(submit: Submit, in_flight: int, seconds: float) -> tuple[float, float]:
    """Return changes acknowledged a second, and the median wait in milliseconds."""
    numbers = itertools.count()
    waits: list[float] = []
    end = time.perf_counter() + seconds

    async def submit_until_end() -> None:
        while (begin := time.perf_counter()) < end:
            await submit(adding(numbers, 1))
            waits.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(submit_until_end() for _ in range(in_flight)))
    return len(waits) / (time.perf_counter() - begin), statistics.median(waits) * 1000


async def compare(folder: Path, seconds: float) -> None:
    """Print acknowledgements a second of both, for each number in flight."""
    print("in flight | group commit: acks/s   p50 ms | commit each: acks/s   p50 ms | ratio")
    for in_flight in IN_FLIGHT:
        async with group_commit(folder / f"group-{in_flight}") as submit:
            ours, our_wait = await acknowledged(submit, in_flight, seconds)
        async with commit_each(folder / f"each-{in_flight}") as submit:
            theirs, their_wait = await acknowledged(submit, in_flight, seconds)
        print(
            f"{in_flight:9} | {ours:20.0f} {our_wait:8.2f} | {theirs:19.0f} {their_wait:8.2f}"
            f" | {ours / theirs:5.1f}"
        )


async def bulk(folder: Path) -> None:
    """Print the time of one change with many bindings."""
    async with group_commit(folder / "bulk") as submit:
        change = adding(itertools.count(), BULK)
        begin = time.perf_counter()
        await submit(change)
        print(f"{BULK} bindings in one change: {(time.perf_counter() - begin) * 1000:.0f} ms")


async def load(folder: Path) -> None:
    """Print the time from opening a store to its last binding."""
    async with group_commit(folder / "load") as submit:
        await submit(adding(itertools.count(), LOAD))
    gc.collect()
    begin = time.perf_counter()
    store = SqliteStore(folder / "load", now_ms=now_ms, random_bytes=os.urandom)
    found = list(store.rows(ACL))
    elapsed = time.perf_counter() - begin
    store.close()
    assert len(found) == LOAD
    size = (folder / "load" / "doorkeeper.db").stat().st_size
    print(
        f"open and load {LOAD} bindings: {elapsed * 1000:.0f} ms; with its log the file has"
        f" {size / LOAD:.0f} bytes a binding"
    )


async def beside_a_busy_loop(folder: Path) -> None:
    """Print the wait for 256 changes while the loop's thread holds Python's lock."""
    store = SqliteStore(folder / "busy", now_ms=now_ms, random_bytes=os.urandom)
    store.start(asyncio.get_running_loop())
    waits = []
    for first in range(1, 20 * 256, 256):
        entries = [
            LogEntry(revision, AUTHOR, adding(itertools.count(), 1))
            for revision in range(first, first + 256)
        ]
        begin = time.perf_counter()
        async with store.lease() as lease:
            written = asyncio.ensure_future(lease.commit(entries, NO_BATCH))
            while not written.done():
                busy_until = time.perf_counter() + 0.02
                while time.perf_counter() < busy_until:
                    pass
                await asyncio.sleep(0)
        waits.append(time.perf_counter() - begin)
    await store.aclose()
    print(
        "256 changes beside a loop that works in turns of 20 ms:"
        f" {statistics.median(waits) * 1000:.0f} ms (median of 20)"
    )


async def main(folder: Path, seconds: float) -> None:
    """Run all of them."""
    await compare(folder, seconds)
    await bulk(folder)
    await load(folder)
    await beside_a_busy_loop(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where to write; the disk that is measured")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each comparison")
    parser.add_argument("--quick", action="store_true", help="a third of a second each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="doorkeeper-bench-", dir=options.folder) as made:
        asyncio.run(main(Path(made), 0.3 if options.quick else options.seconds))
