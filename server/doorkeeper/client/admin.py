"""The operations of an administrator.

Changes go to the controller, other requests to any node. An item with a retriable error (the server
is no longer the controller, or had no time) is sent again, as is a request whose connection was
lost. Changes may therefore arrive twice: a second creation of a binding has no effect, and a
repeated deletion may report fewer bindings than it deleted.

Source: KIP-140, KIP-554; ``KafkaAdminClient`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from doorkeeper.acls.entities.model import Credential
from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.acls.validation import unencodable
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.version import __version__
from doorkeeper.client import entities, scram
from doorkeeper.client.bindings import (
    binding_of,
    bindings_of,
    check_filter,
    creation_request,
    deletion_request,
    description_request,
    refusal,
)
from doorkeeper.client.connection import SOFTWARE_NAME
from doorkeeper.client.errors import ApiFailure, ClientError, error_of
from doorkeeper.client.nodes import NodesClient, RetryNeeded
from doorkeeper.client.scram import Altered
from doorkeeper.client.watching import watch
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
    from typing import Any

    from doorkeeper.acls.entities.model import Entity, EntitySet
    from doorkeeper.acls.entities.plan import EntityChange
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.nodes import Cluster
    from doorkeeper.client.scram import ScramDeletion, ScramPassword
    from doorkeeper_wire.message import Message
    from doorkeeper_wire.messages.delete_acls import DeleteAclsFilterResult

_FEW = 3
"""How many brokers are asked where one may lag: it is unlikely that all of them do."""

_ANSWER_S = 5.0
"""How long one of several nodes may take, of which not all must answer."""

_MANY = 1_000
"""Resources of a description that take a millisecond."""

RETRIABLE = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
"""Errors of an item, or of a whole response, after which it is sent again."""


class _Result(Protocol):
    @property
    def error(self) -> ApiError | None: ...


A = TypeVar("A", bound="Message")
Item = TypeVar("Item")
R = TypeVar("R", bound=_Result)
T = TypeVar("T")


class Created(NamedTuple):
    """The result of one creation; without an error the binding exists."""

    error: ApiError | None = None


class Removed(Struct, frozen=True):
    """A binding that a filter matched, and the error if it was not deleted."""

    binding: AclBinding
    error: ApiError | None = None


class Deleted(Struct, frozen=True):
    """The result of one filter: its own error, or the matching bindings."""

    error: ApiError | None = None
    removed: tuple[Removed, ...] = ()

    @property
    def first_error(self) -> ApiError | None:
        """Return its own error, or the first one of a matching binding."""
        return self.error or next((row.error for row in self.removed if row.error), None)


class AdminClient(NodesClient):
    """A client that keeps its connections open until ``close``. Calls may run concurrently."""

    def __init__(
        self, config: ClientConfig, *, on_retry: Callable[[ClientError], None] | None = None
    ) -> None:
        """Set the configuration; the first call connects. ``on_retry`` is called before each retry.

        Raises:
            ValueError: an address is invalid, or there is none.
        """
        super().__init__(config, on_retry)
        self._tls = config.tls
        self._is_of_controllers = config.controllers

    async def cluster(self) -> Cluster:
        """Return the present nodes: brokers or, if so configured, controllers."""
        return await self._nodes.cluster()

    async def call(
        self,
        request: Message,
        answer: type[A],
        *,
        controller: bool = False,
        node_id: int | None = None,
    ) -> A:
        """Send a request to a node in the newest common version.

        It goes to any node, to the controller, or to the node of an id.

        Error codes in the response are not checked.
        """

        async def once() -> A:
            return await self._nodes.call(request, answer, controller=controller, node_id=node_id)

        return await self._nodes.retry(once)

    async def ask_few(self, ask: Callable[[int | None], Awaitable[T]]) -> tuple[list[T], int]:
        """Return what a few brokers answer, and how many do not: one alone may lag.

        ``ask`` takes the id of a node; None is any, which must answer. The controller, which has
        the metadata itself, is asked alone.
        """
        nodes = {} if self._is_of_controllers else (await self.cluster()).nodes
        first = await ask(None)
        unreached = self._nodes.unreached(nodes.values())
        following = [*nodes][unreached + 1 :]

        others = await self.ask_each(following[: _FEW - 1], ask)
        answers = [first, *(answer for answer in others if answer is not None)]
        return answers, unreached + others.count(None)

    async def ask_each(
        self, nodes: Iterable[int], ask: Callable[[int], Awaitable[T]]
    ) -> list[T | None]:
        """Return what nodes answer, each within seconds; None for one that does not."""

        async def answer(node_id: int) -> T | None:
            try:
                async with asyncio.timeout(_ANSWER_S):
                    return await ask(node_id)
            except (ClientError, OSError, TimeoutError):
                return None

        return await asyncio.gather(*map(answer, nodes))

    # --- ACLs

    async def describe_acls(
        self, filter: AclBindingFilter = ANY_BINDING, *, node_id: int | None = None
    ) -> list[AclBinding]:
        """Return the bindings that the filter matches, sorted; by default all.

        Each broker answers from its own authorizer; ``node_id`` asks a certain one. Unknown codes
        are returned as UNKNOWN.

        Raises:
            ValueError: the filter contains UNKNOWN, for which a server closes the connection.
            ApiFailure: the server refuses, for example with 31 or 54.
            ClientError: any other failure.
        """
        check_filter(filter)
        answer = await self.call(description_request(filter), DescribeAclsResponse, node_id=node_id)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        if len(answer.resources) < _MANY:
            return sorted(bindings_of(answer))
        # The loop of a server serves others meanwhile.
        return await asyncio.to_thread(lambda: sorted(bindings_of(answer)))

    async def metadata_version(self) -> int:
        """Return the finalized level of ``metadata.version``; 0 if the server does not tell it.

        All brokers of the cluster support it, also during an upgrade.
        """
        request = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        answer = await self.call(request, ApiVersionsResponse)
        levels = (
            feature.max_version_level
            for feature in answer.finalized_features
            if feature.name == "metadata.version"
        )
        # A server that does not know the features yet answers with a negative epoch.
        return next(levels, 0) if answer.finalized_features_epoch >= 0 else 0

    def watch(
        self,
        url: str,
        *,
        from_revision: int | None = None,
        principals: Sequence[str] = (),
        token: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield every change of the store, in order and once: ``doorkeeper.client.watching``.

        ``url`` is that of a node's operations port: the Kafka protocol has no such request.
        """
        tls = self._tls
        return watch(url, from_revision=from_revision, principals=principals, token=token, tls=tls)

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[Created]:
        """Create bindings in one request; the results are in order.

        A broker accepts at most 10,000 at a time, and refuses more of them as a whole. Values for
        filters only are refused locally with Kafka's text, and so are texts that are too long.
        """
        refused = [Created(refusal(binding)) for binding in bindings]
        return await self._rest(bindings, refused, self._create)

    async def _create(self, bindings: Sequence[AclBinding]) -> list[Created]:
        request = creation_request(bindings)
        answer = await self._nodes.call(request, CreateAclsResponse, controller=True)
        return [
            Created(error_of(result.error_code, result.error_message)) for result in answer.results
        ]

    async def delete_acls(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        """Delete the matching bindings in one request; the results are in order.

        A filter with a text too long for a request is refused locally.

        Raises:
            ValueError: a filter contains UNKNOWN, for which a server closes the connection.
            ClientError: the outcome is unknown.
        """
        for filter in filters:
            check_filter(filter)
        refused = [Deleted(unencodable(filter)) for filter in filters]
        return await self._rest(filters, refused, self._delete)

    async def _delete(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        request = deletion_request(filters)
        answer = await self._nodes.call(request, DeleteAclsResponse, controller=True)
        return [_delete_result(result) for result in answer.filter_results]

    # --- users of SCRAM

    async def scram_credentials(self, *, node_id: int | None = None) -> dict[str, dict[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted.

        Unknown mechanisms are left out. ``node_id`` asks a certain broker.
        """
        answer = await self.call(
            DescribeUserScramCredentialsRequest(),
            DescribeUserScramCredentialsResponse,
            node_id=node_id,
        )
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        return scram.iterations_by_user(answer)

    async def alter_scram_credentials(
        self, changes: Sequence[ScramPassword | ScramDeletion]
    ) -> list[Altered]:
        """Set and delete passwords; the results are in order.

        A request may change one credential of each user: further ones are sent in further requests.
        """
        results = [Altered()] * len(changes)
        for round_ in scram.rounds(changes):
            await self._send(changes, round_, results, lambda rest: scram.alter(self._nodes, rest))
        return results

    # --- topics, users and quotas

    async def describe_entities(
        self, desired: EntitySet, *, node_id: int | None = None
    ) -> list[Entity]:
        """Return the present entities of the kinds that are wanted or owned.

        ``node_id`` asks a certain broker.
        """
        present = await entities.describe_entities(partial(self.call, node_id=node_id), desired)
        if desired.concerns(Credential):
            credentials = await self.scram_credentials(node_id=node_id)
            present += entities.credentials_of(credentials)
        return present

    async def alter_entities(
        self, changes: Sequence[EntityChange], passwords: Mapping[str, str]
    ) -> list[Altered]:
        """Make changes of entities; the results are in order. ``passwords`` are by reference."""
        results = [Altered()] * len(changes)
        users = [at for at, change in enumerate(changes) if isinstance(change.entity, Credential)]
        others = [at for at in range(len(changes)) if at not in set(users)]
        answered = await self.alter_scram_credentials(
            [entities.scram_change(changes[at], passwords) for at in users]
        )
        for at, result in zip(users, answered, strict=True):
            results[at] = result
        await self._send(changes, others, results, lambda rest: entities.alter(self._nodes, rest))
        return results

    async def _rest(
        self,
        items: Sequence[Item],
        results: list[R],
        ask: Callable[[Sequence[Item]], Awaitable[Sequence[R]]],
    ) -> list[R]:
        """Send the items without an error; return the results of all."""
        sent = [at for at, result in enumerate(results) if result.error is None]
        if sent:
            await self._send(items, sent, results, ask)
        return results

    async def _send(
        self,
        items: Sequence[Item],
        positions: Sequence[int],
        results: list[R],
        ask: Callable[[Sequence[Item]], Awaitable[Sequence[R]]],
    ) -> None:
        """Send the items at some positions and set their results; retry those that may be."""
        waiting = positions

        async def once() -> None:
            nonlocal waiting
            answers = await ask([items[at] for at in waiting])
            if len(answers) != len(waiting):
                raise ClientError(f"received {len(answers)} results for {len(waiting)} items")
            for at, result in zip(waiting, answers, strict=True):
                results[at] = result
            errors = ((at, results[at].error) for at in waiting)
            waiting = [at for at, error in errors if error and error.code in RETRIABLE]
            if waiting:
                raise RetryNeeded(str(results[waiting[0]].error))

        # Without time for another try, the errors of the items are the result.
        with contextlib.suppress(RetryNeeded):
            await self._nodes.retry(once)


def _delete_result(result: DeleteAclsFilterResult) -> Deleted:
    removed = (
        Removed(binding_of(acl), error_of(acl.error_code, acl.error_message))
        for acl in result.matching_acls
    )
    return Deleted(error_of(result.error_code, result.error_message), tuple(removed))
