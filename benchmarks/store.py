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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from doorkeeper.acl.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.storage.contract import Author, Change, StorageError, StoredBinding
from doorkeeper.storage.database import connect
from doorkeeper.storage.embedded import EmbeddedStore
from doorkeeper.storage.migrations import create
from doorkeeper.storage.rows import append, log_rows

AUTHOR = Author("User:admin", "127.0.0.1", "PLAINTEXT", "adminclient-1")
IN_FLIGHT = (1, 32, 256)
BULK = 10_000
LOAD = 100_000

OnDone = Callable[[int | StorageError], None]
Submit = Callable[[Change, OnDone], None]


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
    return Change(author=AUTHOR, bindings_added=tuple(binding(number) for number in chosen))


@contextmanager
def group_commit(folder: Path) -> Iterator[Submit]:
    """Give the store that the server uses."""
    store = EmbeddedStore.open(folder, now_ms=now_ms, random_bytes=os.urandom)
    store.start(asyncio.get_running_loop())
    yield lambda change, on_done: store.submit(lambda: change, on_done)
    store.close()


@contextmanager
def commit_each(folder: Path) -> Iterator[Submit]:
    """Give the baseline: the same tables and settings, a thread, a commit for each change."""
    folder.mkdir()
    connection = connect(folder / "doorkeeper.db")
    create(connection, cluster_id="benchmark", now_ms=now_ms())
    connection.pragma("wal_autocheckpoint", 1000)
    loop = asyncio.get_running_loop()
    waiting: SimpleQueue[tuple[Change, OnDone] | None] = SimpleQueue()

    def run() -> None:
        for revision in itertools.count(1):
            item = waiting.get()
            if item is None:
                return
            append(connection, log_rows(item[0], revision, now_ms()))
            loop.call_soon_threadsafe(item[1], revision)

    thread = Thread(target=run)
    thread.start()
    yield lambda change, on_done: waiting.put((change, on_done))
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
            done: asyncio.Future[int | StorageError] = asyncio.get_running_loop().create_future()
            submit(adding(numbers, 1), done.set_result)
            assert isinstance(await done, int)
            waits.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(submit_until_end() for _ in range(in_flight)))
    return len(waits) / (time.perf_counter() - begin), statistics.median(waits) * 1000


async def compare(folder: Path, seconds: float) -> None:
    """Print acknowledgements a second of both, for each number in flight."""
    print("in flight | group commit: acks/s   p50 ms | commit each: acks/s   p50 ms | ratio")
    for in_flight in IN_FLIGHT:
        with group_commit(folder / f"group-{in_flight}") as submit:
            ours, our_wait = await acknowledged(submit, in_flight, seconds)
        with commit_each(folder / f"each-{in_flight}") as submit:
            theirs, their_wait = await acknowledged(submit, in_flight, seconds)
        print(
            f"{in_flight:9} | {ours:20.0f} {our_wait:8.2f} | {theirs:19.0f} {their_wait:8.2f}"
            f" | {ours / theirs:5.1f}"
        )


async def bulk(folder: Path) -> None:
    """Print the time of one change with many bindings."""
    with group_commit(folder / "bulk") as submit:
        change = adding(itertools.count(), BULK)
        done: asyncio.Future[int | StorageError] = asyncio.get_running_loop().create_future()
        begin = time.perf_counter()
        submit(change, done.set_result)
        assert await done == 1
        print(f"{BULK} bindings in one change: {(time.perf_counter() - begin) * 1000:.0f} ms")


async def load(folder: Path) -> None:
    """Print the time from opening a store to its last binding."""
    with group_commit(folder / "load") as submit:
        done: asyncio.Future[int | StorageError] = asyncio.get_running_loop().create_future()
        submit(adding(itertools.count(), LOAD), done.set_result)
        await done
    gc.collect()
    begin = time.perf_counter()
    store = EmbeddedStore.open(folder / "load", now_ms=now_ms, random_bytes=os.urandom)
    found = list(store.bindings())
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
    with group_commit(folder / "busy") as submit:
        waits = []
        for _ in range(20):
            changes = [adding(itertools.count(), 1) for _ in range(256)]
            results: list[int | StorageError] = []
            begin = time.perf_counter()
            for change in changes:
                submit(change, results.append)
            while len(results) < len(changes):
                busy_until = time.perf_counter() + 0.02
                while time.perf_counter() < busy_until:
                    pass
                await asyncio.sleep(0)
            waits.append(time.perf_counter() - begin)
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
