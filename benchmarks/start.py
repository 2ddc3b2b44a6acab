"""How long from the start of the process to the first answer?

    python benchmarks/start.py [--quick]

A client dials until the port answers and asks for ApiVersions; the clock runs from before the
process is made. Beside it, in turns in the same run: ``python -c pass``, the least that any Python
can take. Both have their bytecode, as an installed package has: the first start, which makes it,
does not count. Goal: 0.5 s. Once with an empty store, once with 100,000 ACLs (10,000 with --quick).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
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
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Author, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.storage.sqlite import SqliteStore
from doorkeeper.server.state.store import LogEntry
from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest

GOAL_MS = 500
PAUSE_S = 0.001
BATCH = 10_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer ACLs")
    quick = parser.parse_args().quick
    rounds, acls = (3, 10_000) if quick else (15, 100_000)
    print(f"start to first answer, median (least) of {rounds}; goal {GOAL_MS} ms")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        for count in (0, acls):
            data = Path(folder) / str(count)
            fill(data, count)
            first_answer_ms(data)
            served, nothing = [], []
            for _ in range(rounds):
                nothing.append(nothing_ms())
                served.append(first_answer_ms(data))
            print(
                f"  {count:7} ACLs: {median(served):5.0f} ms ({min(served):.0f});"
                f" python -c pass: {median(nothing):3.0f} ms ({min(nothing):.0f});"
                f" ratio {median(served) / median(nothing):.1f}"
            )


def nothing_ms() -> float:
    """Return how long a process of Python takes that does nothing."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - begun) * 1000


def first_answer_ms(data: Path) -> float:
    """Start a server on the store and ask it; return the time till the answer was read."""
    port = free_port()
    begun = time.perf_counter()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "doorkeeper", "serve"),
            *("--override", f"listeners=PLAINTEXT://localhost:{port}"),
            *("--override", f"doorkeeper.data.dir={data}"),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        ask(port, process)
        return (time.perf_counter() - begun) * 1000
    finally:
        process.terminate()
        process.wait()


def ask(port: int, process: subprocess.Popen[bytes]) -> None:
    """Dial until somebody answers, and read the answer to ApiVersions."""
    header = RequestHeader(api_key=18, api_version=0, correlation_id=1, client_id="start")
    while True:
        assert process.poll() is None, "the server did not start"
        try:
            connection = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(PAUSE_S)
            continue
        with connection, connection.makefile("rb") as answers:
            connection.sendall(encode_request(header, ApiVersionsRequest().encode(0)))
            size = int.from_bytes(answers.read(4))
            assert len(answers.read(size)) == size
        return


def free_port() -> int:
    """Return a port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def fill(data: Path, count: int) -> None:
    """Make a store with so many ACLs: a thousand principals, three ACLs a topic."""
    store = SqliteStore(data, now_ms=lambda: time.time_ns() // 1_000_000, random_bytes=os.urandom)
    asyncio.run(stored(store, [binding(number) for number in range(count)]))
    store.close()


async def stored(store: SqliteStore, bindings: list[StoredBinding]) -> None:
    """Commit the bindings, ten thousand in a change."""
    store.start(asyncio.get_running_loop())
    author = Author("User:admin", "127.0.0.1", "PLAINTEXT", "start")
    async with store.lease() as lease:
        for revision, at in enumerate(range(0, len(bindings), BATCH), 1):
            change = edit(ACL, set=bindings[at : at + BATCH])
            await lease.commit([LogEntry(revision, author, change)], UUID(int=0))


def binding(number: int) -> StoredBinding:
    """Return the binding of a number."""
    pattern = ResourcePattern(ResourceType.TOPIC, f"topic-{number // 3}", PatternType.LITERAL)
    entry = AccessControlEntry(
        f"User:user-{number % 1000}", "*", AclOperation.READ, AclPermissionType.ALLOW
    )
    return StoredBinding(f"{number:022}", AclBinding(pattern, entry))


if __name__ == "__main__":
    main()
