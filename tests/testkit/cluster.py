"""Real nodes over one real database, each behind a door that fails, and clients that keep books.

The books say of each binding whether it must be there, must not, or nobody knows: a change whose
answer was lost, or that timed out while it was committed, may have been made or not.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from doorkeeper.acls.model import ANY_BINDING, exactly
from doorkeeper.client.bindings import (
    bindings_of,
    creation_request,
    deletion_request,
    description_request,
)
from doorkeeper.client.config import ClientConfig, address_of
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import ClientError
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import READ, allow, topic
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.model import AclBinding
    from testkit.postgres import Database

Held = tuple[str, str]
"""A binding of these tests: its principal and its topic."""

UPDATE_TIMEOUT_MS: Final = 8_000
"""Longer than the longest pause of a node that looks for its store again."""

_STORAGE_ERROR: Final = 56
_TIMED_OUT: Final = 7
_NOTHING_CHANGED: Final = "The ACLs are as they were"


class Cluster:
    """So many nodes of one database; all is closed with the context."""

    def __init__(
        self,
        database: Database,
        nodes: int,
        properties: Mapping[str, str] | None = None,
        *,
        operations_ports: bool = False,
    ) -> None:
        """``properties`` are set for all nodes, in place of those that are set otherwise."""
        self.database = database
        self._own = dict(properties or {})
        self._stack = ExitStack()
        self.proxies = [TcpProxy(database.server.port) for _ in range(nodes)]
        self.ports = [free_port() for _ in range(nodes)]
        self.operations_ports = [free_port() for _ in range(nodes)] if operations_ports else []
        self.servers: list[DoorkeeperServer] = []

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            for number, (proxy, port) in enumerate(zip(self.proxies, self.ports, strict=True), 1):
                undo.enter_context(proxy)
                server = DoorkeeperServer(self._properties(number, proxy, port), ports=(port,))
                undo.callback(server.close)
                self.servers.append(server)
                server.start()
            self._stack = undo.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    def _properties(self, number: int, proxy: TcpProxy, port: int) -> dict[str, str]:
        return {
            "node.id": str(number),
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "broker.heartbeat.interval.ms": "200",
            "broker.session.timeout.ms": "1500",
            "doorkeeper.store": self.database.url(port=proxy.port),
            "doorkeeper.store.connect.timeout.ms": "1000",
            "doorkeeper.store.statement.timeout.ms": "2000",
            "doorkeeper.update.timeout.ms": str(UPDATE_TIMEOUT_MS),
            **self._operations_port(number),
            **self._own,
        }

    def _operations_port(self, number: int) -> dict[str, str]:
        if not self.operations_ports:
            return {}
        port = self.operations_ports[number - 1]
        return {"doorkeeper.http.listener": f"http://127.0.0.1:{port}"}

    def logs(self) -> str:
        """Return the end of each node's log, for a failure's text."""
        return "\n".join(
            "\n".join(server.log.read_text().splitlines()[-12:]) for server in self.servers
        )

    async def described_by(self, number: int) -> DescribeAclsResponse:
        """Return a node's description of all ACLs: that very node, whichever it would send us to.

        Raises:
            ClientError: it does not answer.

        """
        address = f"127.0.0.1:{self.ports[number]}"
        config = ClientConfig(bootstrap=address, request_timeout_ms=5_000)
        connection = await ClientConnection.connect(address_of(address), config)
        try:
            return await connection.call(description_request(ANY_BINDING), DescribeAclsResponse)
        finally:
            await connection.close()

    async def seen_by(self, number: int) -> frozenset[Held]:
        """Return the bindings that a node describes.

        Raises:
            ClientError: it does not answer.

        """
        answer = await self.described_by(number)
        return frozenset((entry.principal, pattern.name) for pattern, entry in bindings_of(answer))

    def of_the_log(self) -> tuple[frozenset[Held], int]:
        """Replay the log; return principal and name of each binding, and how many the table has."""
        rows = self.database.execute(
            "SELECT deleted, value::jsonb ->> 3, value::jsonb ->> 1 FROM doorkeeper.log"
            " ORDER BY revision, item"
        )
        held: set[Held] = set()
        for row in rows.splitlines():
            deleted, principal, name = row.split("|")
            if deleted == "f":
                assert (principal, name) not in held, f"{name} was created twice"
                held.add((principal, name))
            else:
                held.remove((principal, name))
        table = self.database.execute("SELECT count(*) FROM doorkeeper.item WHERE kind = 'acl'")
        return frozenset(held), int(table)

    def revisions(self) -> list[int]:
        """Return the revisions of the log."""
        rows = self.database.execute(
            "SELECT DISTINCT revision FROM doorkeeper.log ORDER BY revision"
        )
        return [int(row) for row in rows.split()]


@dataclass
class Books:
    """What clients were told."""

    present: set[AclBinding] = field(default_factory=set)
    absent: set[AclBinding] = field(default_factory=set)
    unknown: set[AclBinding] = field(default_factory=set)
    acknowledged: int = 0
    refused: int = 0
    errors: list[str] = field(default_factory=list)

    def held(self, kind: set[AclBinding]) -> set[Held]:
        """Return principals and topics of bindings."""
        return {(each.entry.principal, each.pattern.name) for each in kind}

    def settle(self, binding: AclBinding, *, is_there: bool | None) -> None:
        """Note what is known of a binding; None: nothing."""
        for kind in (self.present, self.absent, self.unknown):
            kind.discard(binding)
        kind = self.unknown if is_there is None else self.present if is_there else self.absent
        kind.add(binding)


class Writer:
    """A client that creates and deletes bindings of its own, on one node or another."""

    def __init__(self, cluster: Cluster, books: Books, number: int, seed: int) -> None:
        self._cluster = cluster
        self._books = books
        self._random = random.Random(f"{seed}/{number}")
        self._number = number
        self._made = 0
        self._mine: list[AclBinding] = []
        self._connections: dict[int, ClientConnection] = {}
        self.stopping = False

    async def run(self) -> None:
        """Write until ``stopping``."""
        while not self.stopping:
            node = self._number % len(self._cluster.ports)
            if self._random.random() < 0.4:
                node = self._random.randrange(len(self._cluster.ports))
            try:
                await self._one(await self._connection(node))
            except (ClientError, OSError):
                # Nothing was sent, or ``_one`` has noted that nobody knows.
                await asyncio.sleep(0.05)
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    async def _connection(self, node: int) -> ClientConnection:
        found = self._connections.get(node)
        if found is None or not found.alive:
            if found is not None:
                await found.close()
            address = f"127.0.0.1:{self._cluster.ports[node]}"
            config = ClientConfig(bootstrap=address, request_timeout_ms=UPDATE_TIMEOUT_MS + 3_000)
            found = await ClientConnection.connect(address_of(address), config)
            self._connections[node] = found
        return found

    async def _one(self, connection: ClientConnection) -> None:
        if self._mine and self._random.random() < 0.45:
            binding = self._mine.pop(self._random.randrange(len(self._mine)))
            await self._delete(connection, binding)
        else:
            self._made += 1
            await self._create(
                connection, allow(f"w{self._number}", READ, topic(f"w{self._number}-{self._made}"))
            )

    async def _create(self, connection: ClientConnection, binding: AclBinding) -> None:
        self._books.settle(binding, is_there=None)
        answer = await connection.call(creation_request([binding]), CreateAclsResponse)
        (result,) = answer.results
        if self._noted(binding, result.error_code, result.error_message, done=True):
            self._mine.append(binding)

    async def _delete(self, connection: ClientConnection, binding: AclBinding) -> None:
        self._books.settle(binding, is_there=None)
        answer = await connection.call(deletion_request([exactly(binding)]), DeleteAclsResponse)
        (result,) = answer.filter_results
        if not self._noted(binding, result.error_code, result.error_message, done=False):
            return
        if len(result.matching_acls) != 1:
            self._books.errors.append(
                f"{binding.pattern.name} was acknowledged, and a deletion on {connection.address}"
                f" matched {len(result.matching_acls)}"
            )

    def _noted(self, binding: AclBinding, code: int, text: str | None, *, done: bool) -> bool:
        """Note an answer; say whether it is success."""
        if code == 0:
            self._books.acknowledged += 1
            self._books.settle(binding, is_there=done)
            return True
        if code == _STORAGE_ERROR or (code == _TIMED_OUT and _NOTHING_CHANGED in (text or "")):
            self._books.refused += 1
            self._books.settle(binding, is_there=not done)
        elif code != _TIMED_OUT:
            self._books.errors.append(f"{binding.pattern.name}: error {code}: {text}")
        return False
