"""The nodes of a cluster: discovery, one connection to each, retries.

If a node is lost or does not answer, the nodes are discovered again and the request is repeated
after a growing pause, until the timeout of the call. A client that has never reached a server fails
at once unless it is ``patient``: the address may be wrong.

Source: KIP-919; ``AdminMetadataManager`` and ``KafkaAdminClient`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Self, TypeVar

from msgspec import Struct

from doorkeeper.client.config import Address, ClientConfig
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import (
    ApiFailure,
    ClientError,
    ConnectionLost,
    NoSuchNode,
    TimedOut,
    Unreachable,
)
from doorkeeper_wire.message import Message
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse

A = TypeVar("A", bound="Message")
T = TypeVar("T")

CONTROLLERS = 2
"""The endpoint type of controllers (KIP-919)."""


class Cluster(Struct, frozen=True):
    """The nodes of a cluster by id; ``controller_id`` is -1 if it is unknown."""

    cluster_id: str
    controller_id: int
    nodes: Mapping[int, Address]


class RetryNeeded(ClientError):
    """The response asks for a retry."""


class Nodes:
    """The nodes behind some bootstrap addresses."""

    def __init__(
        self, config: ClientConfig, on_retry: Callable[[ClientError], None] | None = None
    ) -> None:
        """Set the configuration; the first call connects."""
        self._config = config
        self._bootstrap = config.addresses()
        if not self._bootstrap:
            raise ValueError("no address given; expected: host:port")
        self._on_retry = on_retry
        self._cluster: Cluster | None = None
        self._known: tuple[Address, ...] = ()
        self._connections: dict[Address, ClientConnection] = {}
        self._connecting: dict[Address, asyncio.Lock] = {}
        self._reached = config.patient
        self._closed = False

    async def close(self) -> None:
        """Close all connections; calls in progress fail."""
        self._closed = True
        self.forget()
        connections, self._connections = self._connections, {}
        await asyncio.gather(*(connection.close() for connection in connections.values()))

    def forget(self) -> None:
        """Discover the nodes again before the next request."""
        self._cluster = None

    async def cluster(self) -> Cluster:
        self.forget()
        return await self.retry(self._discover)

    async def call(
        self,
        request: Message,
        answer: type[A],
        *,
        controller: bool = False,
        node_id: int | None = None,
    ) -> A:
        """Send a request once: to any node, to the controller, or to the node of an id."""
        if node_id is None:
            connection = await self._connection(controller=controller)
        else:
            connection = await self.connection(node_id)
        return await connection.call(request, answer)

    async def connection(self, node_id: int) -> ClientConnection:
        """Return a connection to a node, such as the leader of a partition.

        Raises:
            NoSuchNode: the cluster does not have it at the moment.
            ClientError: it cannot be reached.
        """
        cluster = self._cluster or await self._discover()
        address = cluster.nodes.get(node_id)
        if address is None:
            raise NoSuchNode(f"the cluster has no node {node_id} at the moment")
        return await self._to(address)

    def unreached(self, addresses: Iterable[Address]) -> int:
        """Return how many addresses come before the first one with a connection; 0 without any.

        A request to any node goes to that one.
        """
        for number, address in enumerate(addresses):
            connection = self._connections.get(address)
            if connection is not None and connection.alive:
                return number
        return 0

    async def retry(self, once: Callable[[], Awaitable[T]]) -> T:
        """Repeat an operation until it succeeds, or the timeout of a call expires.

        Raises:
            ClientError: the error of the last attempt; ``TimedOut`` if the timeout interrupted it.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._config.timeout_ms / 1000
        pause_ms = self._config.retry_ms
        met: ClientError | None = None
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    return await once()
            except TimeoutError:
                before = f"; before that: {met}" if met is not None else ""
                raise TimedOut(f"timed out after {self._config.timeout_ms} ms{before}") from None
            except (Unreachable, ConnectionLost, TimedOut, RetryNeeded) as error:
                met = error
                self.forget()
                # A pause that would outlast the deadline only delays the error.
                if self._closed or not self._reached or loop.time() + pause_ms / 1000 >= deadline_s:
                    raise
                if self._on_retry is not None:
                    self._on_retry(error)
            await asyncio.sleep(pause_ms / 1000)
            # Exponential, as in Kafka's clients since KIP-580.
            pause_ms = min(2 * pause_ms, self._config.retry_max_ms)

    async def _connection(self, *, controller: bool) -> ClientConnection:
        cluster = self._cluster or await self._discover()
        if controller or self._config.controllers:
            address = cluster.nodes.get(cluster.controller_id)
            if address is None:
                raise ConnectionLost("the cluster has no controller at the moment")
            return await self._to(address)
        problems = []
        # Nodes behind a load balancer may advertise the same address.
        for address in dict.fromkeys(cluster.nodes.values()):
            try:
                return await self._to(address)
            except (Unreachable, ConnectionLost, TimedOut) as error:
                problems.append(str(error))
        raise Unreachable("; ".join(problems) or "the cluster has no nodes")

    async def _to(self, address: Address) -> ClientConnection:
        # One connection attempt for each address: concurrent calls share it.
        async with self._connecting.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is not None and connection.alive:
                return connection
            if connection is not None:
                await connection.close()
            connection = await ClientConnection.connect(address, self._config)
            if self._closed:
                await connection.close()
                raise ConnectionLost("the client is closed")
            self._connections[address] = connection
            return connection

    async def _discover(self) -> Cluster:
        """Ask the bootstrap addresses, then the last known nodes, one after the other."""
        if self._closed:
            raise ConnectionLost("the client is closed")
        ask = _controllers if self._config.controllers else _brokers
        problems = []
        for address in dict.fromkeys((*self._bootstrap, *self._known)):
            try:
                cluster = await ask(await self._to(address))
            except (Unreachable, ConnectionLost, TimedOut) as error:
                problems.append(str(error))
                continue
            self._cluster, self._reached = cluster, True
            self._known = tuple(cluster.nodes.values())
            return cluster
        raise Unreachable("; ".join(problems))


class NodesClient:
    """A client of the nodes of a cluster, open until ``close``."""

    def __init__(
        self, config: ClientConfig, on_retry: Callable[[ClientError], None] | None = None
    ) -> None:
        self._nodes = Nodes(config, on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; calls in progress fail."""
        await self._nodes.close()


async def _brokers(connection: ClientConnection) -> Cluster:
    # An empty list of topics asks for none; null would ask for all.
    # Versions below 4 have no field for the flag, and mean True.
    request = MetadataRequest(topics=(), allow_auto_topic_creation=True)
    answer = await connection.call(request, MetadataResponse)
    return Cluster(
        answer.cluster_id or "",
        answer.controller_id,
        {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers},
    )


async def _controllers(connection: ClientConnection) -> Cluster:
    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
    answer = await connection.call(request, DescribeClusterResponse)
    if answer.error_code:
        raise ApiFailure(answer.error_code, answer.error_message)
    return Cluster(
        answer.cluster_id,
        answer.controller_id,
        {broker.broker_id: Address(broker.host, broker.port) for broker in answer.brokers},
    )
