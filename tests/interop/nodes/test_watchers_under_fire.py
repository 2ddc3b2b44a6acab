"""Watchers of a cluster under continuous changes, while nodes, connections and the database fail.

Streams of the operations ports, one of which goes from node to node, and the command, which is
killed too and goes on behind the last change that it printed. Each must have every revision of the
log, once and in order.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack, aclosing, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import exactly
from doorkeeper.client.bindings import creation_request, deletion_request
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import ClientError, Unreachable
from doorkeeper.client.watching import watch
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from testkit.acl import READ, allow, topic
from testkit.cluster import UPDATE_TIMEOUT_MS, Cluster
from testkit.cluster_faults import FAULTS, database_pauses
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from testkit.postgres import Postgres

pytestmark = pytest.mark.interop

NODES, WRITERS, IN_FLIGHT = 3, 3, 16
QUIET_S = 120


class Writer:
    """A client that creates ACLs, and deletes those whose creation was acknowledged."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.acknowledged: set[str] = set()
        self.goes_on = asyncio.Event()
        self._cluster = cluster
        self._number = number
        self._random = random.Random(number)
        self._names = count()

    async def run(self) -> None:
        """Write while it may go on, until it is cancelled."""
        while True:
            await self.goes_on.wait()
            try:
                await self._write_to(self._random.choice(self._cluster.ports))
            except (ClientError, OSError):
                await asyncio.sleep(0.05)

    async def _write_to(self, port: int) -> None:
        address = f"127.0.0.1:{port}"
        config = ClientConfig(bootstrap=address, request_timeout_ms=UPDATE_TIMEOUT_MS + 3_000)
        connection = await ClientConnection.connect(address_of(address), config)
        try:
            for _ in range(8):
                made = [self._binding() for _ in range(IN_FLIGHT)]
                done = await asyncio.gather(*(self._create(connection, each) for each in made))
                there = [each for each, is_there in zip(made, done, strict=True) if is_there]
                self.acknowledged.update(each.pattern.name for each in there)
                requests = [deletion_request([exactly(each)]) for each in there]
                await asyncio.gather(
                    *(connection.call(each, DeleteAclsResponse) for each in requests)
                )
        finally:
            await connection.close()

    def _binding(self) -> AclBinding:
        return allow(f"w{self._number}", READ, topic(f"w{self._number}-{next(self._names)}"))

    async def _create(self, connection: ClientConnection, binding: AclBinding) -> bool:
        answer = await connection.call(creation_request([binding]), CreateAclsResponse)
        return answer.results[0].error_code == 0


class Watcher(ABC):
    """The changes that a watcher was given: revisions with their hashes, and created topics."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[tuple[int, str]] = []
        self.created: set[str] = set()

    @abstractmethod
    async def run(self) -> None:
        """Watch until it is cancelled."""

    @property
    def next(self) -> int:
        return self.seen[-1][0] + 1 if self.seen else 1

    def take(self, change: dict[str, Any]) -> None:
        self.seen.append((change["revision"], change["hash"]))
        self.created.update(
            each["name"]
            for each in change["changes"]
            if each["kind"] == "acl" and each["action"] == "set"
        )


class StreamWatcher(Watcher):
    """Reads the stream of an operations port, through a proxy for each node.

    With ``stays`` it keeps to a node, after so many changes it goes to the next one.
    """

    def __init__(self, name: str, proxies: list[TcpProxy], stays: int | None) -> None:
        super().__init__(name)
        self.proxies = proxies
        self._stays = stays

    async def run(self) -> None:
        """Watch until it is cancelled."""
        for number in count():
            url = f"http://127.0.0.1:{self.proxies[number % len(self.proxies)].port}"
            left = self._stays
            changes = watch(url, from_revision=self.next, retry_s=0.1)
            with suppress(Unreachable):
                async with aclosing(changes):  # type: ignore[type-var]  # a generator
                    async for change in changes:
                        self.take(change)
                        left = None if left is None else left - 1
                        if left == 0:
                            break
            await asyncio.sleep(0.05)


class CommandWatcher(Watcher):
    """``doorkeeper watch`` in a process, which is started anew when it has ended."""

    def __init__(self, name: str, store: str) -> None:
        super().__init__(name)
        self._store = store
        self._process: asyncio.subprocess.Process | None = None

    def kill(self) -> None:
        """Kill the process; ``run`` starts another one."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def run(self) -> None:
        """Watch until it is cancelled."""
        try:
            while True:
                words = (self._store, "--since", str(self.next - 1), "--output", "json")
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "doorkeeper", "watch", *words),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    limit=1 << 24,
                )
                assert self._process.stdout is not None
                async for line in self._process.stdout:
                    # The last line of a process that was killed may be cut off.
                    if line.endswith(b"\n"):
                        self.take(json.loads(line))
                await self._process.wait()
                await asyncio.sleep(0.1)
        finally:
            self.kill()


async def head(cluster: Cluster, least: int = 0) -> int:
    """Return the newest revision, as soon as the database has ``least``."""
    statement = "SELECT coalesce(max(revision), 0) FROM doorkeeper.log"
    while True:
        with suppress(RuntimeError):
            newest = int(await asyncio.to_thread(cluster.database.execute, statement))
            if newest >= least:
                return newest
        await asyncio.sleep(0.3)


async def watcher_fails(
    streams: list[StreamWatcher], command: CommandWatcher, chance: random.Random
) -> None:
    """Cut or pause the connections of a watcher, and kill the other one."""
    command.kill()
    proxies = chance.choice(streams).proxies
    how = chance.choice(("cut", "pause"))
    for proxy in proxies:
        await asyncio.to_thread(getattr(proxy, how))
    await asyncio.sleep(chance.uniform(0.1, 1.5))
    for proxy in proxies:
        await asyncio.to_thread(proxy.heal)


@pytest.mark.parametrize(
    ("rounds", "changes"),
    [
        (3, 3_000),
        pytest.param(50, 100_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
async def test_watchers_receive_every_change_once_and_in_order(
    mortal_server: Postgres, rounds: int, changes: int
) -> None:
    chance = random.Random(20261126)
    faults = (database_pauses, *FAULTS)
    with ExitStack() as stack:
        database = mortal_server.create_database()
        cluster = stack.enter_context(Cluster(database, NODES, operations_ports=True))

        def proxies() -> list[TcpProxy]:
            ports = cluster.operations_ports
            return [stack.enter_context(TcpProxy(port)) for port in ports]

        streams = [
            StreamWatcher(f"stream of node {number}", [proxy], None)
            for number, proxy in enumerate(proxies())
        ]
        streams.append(StreamWatcher("stream of all nodes", proxies(), 500))
        link = stack.enter_context(TcpProxy(mortal_server.port))
        command = CommandWatcher("command", database.url(port=link.port))
        watchers: list[Watcher] = [*streams, command]
        writers = [Writer(cluster, number) for number in range(WRITERS)]
        runs = [*(each.run() for each in watchers), *(each.run() for each in writers)]
        tasks = [asyncio.ensure_future(each) for each in runs]

        for number in range(rounds):
            for writer in writers:
                writer.goes_on.set()
            await asyncio.sleep(0.3)
            fault = faults[number % len(faults)] if number < len(faults) else chance.choice(faults)
            await asyncio.gather(fault(cluster, chance), watcher_fails(streams, command, chance))
            await head(cluster, changes * (number + 1) // rounds)
        for writer in writers:
            writer.goes_on.clear()
        newest = await settled(cluster, watchers)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        logged = database.execute(
            "SELECT revision, hash FROM doorkeeper.log WHERE item = 0 ORDER BY revision"
        )

    rows = [tuple(row.split("|")) for row in logged.splitlines()]
    expected = [(int(revision), hash_) for revision, hash_ in rows]
    assert [revision for revision, _ in expected] == list(range(1, newest + 1))
    acknowledged = set().union(*(writer.acknowledged for writer in writers))
    for watcher in watchers:
        assert watcher.seen == expected, watcher.name
        assert acknowledged <= watcher.created, watcher.name
    assert newest >= changes
    print(f"{rounds} rounds, {newest} changes, {len(acknowledged)} acknowledged creations")  # noqa: T201 - shown by -s


async def settled(cluster: Cluster, watchers: list[Watcher]) -> int:
    """Return the newest revision, when it rests and all watchers have it."""
    before = -1
    async with asyncio.timeout(QUIET_S):
        while (newest := await head(cluster)) != before or any(
            watcher.next <= newest for watcher in watchers
        ):
            before = newest
            await asyncio.sleep(1)
    return newest
