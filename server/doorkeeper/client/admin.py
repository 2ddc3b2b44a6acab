"""What an administrator asks of a cluster, and changes in it.

Requests that change something go to the controller, others to any node; where a node is gone or is
no longer the controller, the nodes are asked for anew and the request is sent again, until the
call's time is over. Creations and deletions may therefore reach the servers twice: a binding that
is created twice is there once, and a deletion that is sent again may report fewer bindings.

Source: KIP-140, KIP-919; ``KafkaAdminClient`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from doorkeeper.acl.model import (
    ANY_BINDING,
    AccessControlEntry,
    AclBinding,
    ResourcePattern,
)
from doorkeeper.client.config import Address
from doorkeeper.client.connection import Connection
from doorkeeper.client.errors import ApiFailure, ClientError, ConnectionLost, Unreachable, error_of
from doorkeeper.codes import operation, pattern_type, permission_type, resource_type
from doorkeeper.errors import ErrorCode
from doorkeeper_wire.messages.create_acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from doorkeeper.acl.model import AclBindingFilter
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.errors import ApiError
    from doorkeeper_wire.message import Message

A = TypeVar("A", bound="Message")
T = TypeVar("T")

CONTROLLERS = 2
"""The endpoint type of controllers (KIP-919)."""

_AGAIN = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class Cluster(NamedTuple):
    """The nodes of a cluster by id; ``controller_id`` is -1 where nobody is known to be it."""

    cluster_id: str
    controller_id: int
    nodes: Mapping[int, Address]


class Created(NamedTuple):
    """What became of one creation; without an error the binding is there."""

    error: ApiError | None = None


class Removed(NamedTuple):
    """A binding that a filter matched, and why it was not deleted, if so."""

    binding: AclBinding
    error: ApiError | None = None


class Deleted(NamedTuple):
    """What became of one filter: its own error, or what it matched."""

    error: ApiError | None = None
    removed: tuple[Removed, ...] = ()


class AdminClient:
    """A client; its connections live as long as it does. Calls may run side by side."""

    def __init__(self, config: ClientConfig) -> None:
        """Take the configuration; the first call connects.

        Raises:
            ValueError: the bootstrap addresses are none.

        """
        self._config = config
        self._bootstrap = config.addresses()
        if not self._bootstrap:
            raise ValueError("bootstrap: no address is given; allowed: host:port, ...")
        self._cluster: Cluster | None = None
        self._connections: dict[Address, Connection] = {}
        self._connecting: dict[Address, asyncio.Lock] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await connection.close()

    async def describe_acls(self, wanted: AclBindingFilter = ANY_BINDING) -> list[AclBinding]:
        """Return the bindings that the filter matches, sorted; all of them without one.

        Codes that this version does not know come as UNKNOWN.

        Raises:
            ApiFailure: the server refuses, as with 31 and 54.
            ClientError: anything else.

        """
        pattern, entry = wanted
        request = DescribeAclsRequest(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=entry.principal,
            host_filter=entry.host,
            operation=entry.operation,
            permission_type=entry.permission_type,
        )
        answer = await self.call(request, DescribeAclsResponse)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        return sorted(
            AclBinding(
                ResourcePattern(
                    resource_type(each.resource_type),
                    each.resource_name,
                    pattern_type(each.pattern_type),
                ),
                AccessControlEntry(
                    acl.principal,
                    acl.host,
                    operation(acl.operation),
                    permission_type(acl.permission_type),
                ),
            )
            for each in answer.resources
            for acl in each.acls
        )

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[Created]:
        """Create bindings, in one request; the results are in order.

        A broker takes at most 10,000 at a time, and refuses more of them as a whole.

        Raises:
            ClientError: nobody knows what became of them.

        """
        request = CreateAclsRequest(
            creations=tuple(
                AclCreation(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name,
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal,
                    host=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in bindings
            )
        )

        def codes(answer: CreateAclsResponse) -> list[int]:
            return [each.error_code for each in answer.results]

        answer = await self.call(request, CreateAclsResponse, controller=True, codes=codes)
        if len(answer.results) != len(bindings):
            raise ClientError(f"{len(answer.results)} results came for {len(bindings)} creations")
        return [Created(error_of(each.error_code, each.error_message)) for each in answer.results]

    async def delete_acls(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        """Delete what filters match, in one request; the results are in order.

        Raises:
            ClientError: nobody knows what became of it.

        """
        request = DeleteAclsRequest(
            filters=tuple(
                DeleteAclsFilter(
                    resource_type_filter=pattern.resource_type,
                    resource_name_filter=pattern.name,
                    pattern_type_filter=pattern.pattern_type,
                    principal_filter=entry.principal,
                    host_filter=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in filters
            )
        )

        def codes(answer: DeleteAclsResponse) -> list[int]:
            return [each.error_code for each in answer.filter_results]

        answer = await self.call(request, DeleteAclsResponse, controller=True, codes=codes)
        if len(answer.filter_results) != len(filters):
            raise ClientError(
                f"{len(answer.filter_results)} results came for {len(filters)} filters"
            )
        return [
            Deleted(
                error_of(result.error_code, result.error_message),
                tuple(
                    Removed(
                        AclBinding(
                            ResourcePattern(
                                resource_type(each.resource_type),
                                each.resource_name,
                                pattern_type(each.pattern_type),
                            ),
                            AccessControlEntry(
                                each.principal,
                                each.host,
                                operation(each.operation),
                                permission_type(each.permission_type),
                            ),
                        ),
                        error_of(each.error_code, each.error_message),
                    )
                    for each in result.matching_acls
                ),
            )
            for result in answer.filter_results
        ]

    async def cluster(self) -> Cluster:
        """Return the nodes as they are now.

        Raises:
            ClientError: nobody could be asked.

        """
        self._cluster = None
        return await self._retried(self._found)

    async def call(
        self,
        request: Message,
        answer: type[A],
        *,
        controller: bool = False,
        codes: Callable[[A], Sequence[int]] | None = None,
    ) -> A:
        """Send any request to a node, or to the controller, in the newest version of both sides.

        ``codes`` are the error codes of the answer's items: where one of them says that the node
        is not the controller, the request is sent again to the one that is.

        Raises:
            ClientError: there is no answer.

        """

        async def once() -> A:
            connection = await self._connection(controller=controller)
            found = await connection.call(request, answer)
            if codes is not None and not _AGAIN.isdisjoint(codes(found)):
                self._cluster = None
                raise _Again(found)
            return found

        try:
            return await self._retried(once)
        except _Again as given_up:
            # The items' own errors say it best.
            found = given_up.answer
            assert isinstance(found, answer)
            return found

    # --- nodes

    async def _connection(self, *, controller: bool) -> Connection:
        cluster = self._cluster or await self._found()
        if controller or self._config.controllers:
            address = cluster.nodes.get(cluster.controller_id)
            if address is None:
                raise ConnectionLost("the cluster has no controller at the moment")
            return await self._to(address)
        problems = []
        for address in cluster.nodes.values():
            try:
                return await self._to(address)
            except Unreachable as error:
                problems.append(str(error))
        raise Unreachable("; ".join(problems) or "the cluster has no nodes")

    async def _to(self, address: Address) -> Connection:
        async with self._connecting.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is None or not connection.alive:
                if connection is not None:
                    await connection.close()
                connection = await Connection.connect(address, self._config)
                self._connections[address] = connection
            return connection

    async def _found(self) -> Cluster:
        """Ask the bootstrap addresses, one after the other, who is there."""
        problems = []
        for address in self._bootstrap:
            try:
                connection = await self._to(address)
                found = (
                    await _controllers(connection)
                    if self._config.controllers
                    else await _brokers(connection)
                )
            except (Unreachable, ConnectionLost) as error:
                problems.append(str(error))
                continue
            self._cluster = found
            return found
        raise Unreachable("; ".join(problems))

    async def _retried(self, once: Callable[[], Awaitable[T]]) -> T:
        """Do something until it is done, or the time of a call is over."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._config.timeout_ms / 1000
        pause_ms = self._config.retry_ms
        while True:
            try:
                return await once()
            except (Unreachable, ConnectionLost, _Again):
                self._cluster = None
                if loop.time() + pause_ms / 1000 >= deadline_s:
                    raise
            await asyncio.sleep(pause_ms / 1000)
            pause_ms = min(2 * pause_ms, self._config.retry_max_ms)


class _Again(ClientError):
    """An answer that asks for another try; it is kept in case there is none."""

    def __init__(self, answer: Message) -> None:
        super().__init__("the node is not the controller any more")
        self.answer = answer


async def _brokers(connection: Connection) -> Cluster:
    request = MetadataRequest(topics=(), allow_auto_topic_creation=True)
    answer = await connection.call(request, MetadataResponse)
    return Cluster(
        answer.cluster_id or "",
        answer.controller_id,
        {each.node_id: Address(each.host, each.port) for each in answer.brokers},
    )


async def _controllers(connection: Connection) -> Cluster:
    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
    answer = await connection.call(request, DescribeClusterResponse)
    if answer.error_code:
        raise ApiFailure(answer.error_code, answer.error_message)
    return Cluster(
        answer.cluster_id,
        answer.controller_id,
        {each.broker_id: Address(each.host, each.port) for each in answer.brokers},
    )
