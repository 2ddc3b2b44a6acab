"""What an administrator asks of a cluster, and changes in it.

Requests that change something go to the controller, others to any node. An item that the server
asks to try again (it is no longer the controller, or it had no time) is sent again, as is a request
whose connection was lost. Changes may therefore reach the servers twice: a binding that is created
twice is there once, and a deletion that is sent again may report fewer bindings than it deleted.

Source: KIP-140, KIP-554; ``KafkaAdminClient`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.acl.validation import unencodable
from doorkeeper.client.bindings import (
    check_filter,
    creating,
    deleted,
    deleting,
    described,
    describing,
    refusal,
)
from doorkeeper.client.errors import ApiFailure, ClientError, error_of
from doorkeeper.client.nodes import Again, Nodes
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.nodes import Cluster
    from doorkeeper.client.scram import Altered, ScramDeletion, ScramPassword
    from doorkeeper_wire.message import Message
    from doorkeeper_wire.messages.delete_acls import DeleteAclsFilterResult

AGAIN = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
"""The errors of an item, or of a whole answer, after which it is sent again."""


class _Result(Protocol):
    @property
    def error(self) -> ApiError | None: ...


A = TypeVar("A", bound="Message")
I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R", bound=_Result)


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

    def __init__(
        self, config: ClientConfig, *, on_retry: Callable[[ClientError], None] | None = None
    ) -> None:
        """Take the configuration; the first call connects. ``on_retry`` is told of each retry.

        Raises:
            ValueError: there is no bootstrap address, or one is none.

        """
        self._nodes = Nodes(config, on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections; calls that are under way fail."""
        await self._nodes.close()

    async def cluster(self) -> Cluster:
        """Return the nodes as they are now: brokers or, by the configuration, controllers.

        Raises:
            ClientError: nobody could be asked.

        """
        return await self._nodes.cluster()

    async def call(self, request: Message, answer: type[A], *, controller: bool = False) -> A:
        """Send any request to a node, or to the controller, in the newest version of both sides.

        Errors in the answer are the caller's affair.

        Raises:
            ClientError: there is no answer.

        """

        async def once() -> A:
            return await self._nodes.call(request, answer, controller=controller)

        return await self._nodes.retried(once)

    # --- ACLs

    async def describe_acls(self, wanted: AclBindingFilter = ANY_BINDING) -> list[AclBinding]:
        """Return the bindings that the filter matches, sorted; all of them without one.

        Codes that this version does not know come as UNKNOWN.

        Raises:
            ValueError: the filter has an UNKNOWN in it, for which a server closes the connection.
            ApiFailure: the server refuses, as with 31 and 54.
            ClientError: anything else.

        """
        check_filter(wanted)
        answer = await self.call(describing(wanted), DescribeAclsResponse)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        return sorted(described(answer))

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[Created]:
        """Create bindings, in one request; the results are in order.

        A broker takes at most 10,000 at a time, and refuses more of them as a whole. What only a
        filter may have in it is refused here, with Kafka's text, and so is what is too long.

        Raises:
            ClientError: nobody knows what became of them.

        """
        refused = [Created(refusal(each)) for each in bindings]
        return await self._rest(bindings, refused, self._create)

    async def _create(self, bindings: Sequence[AclBinding]) -> list[Created]:
        request = creating(bindings)
        answer = await self._nodes.call(request, CreateAclsResponse, controller=True)
        return [Created(error_of(each.error_code, each.error_message)) for each in answer.results]

    async def delete_acls(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        """Delete what filters match, in one request; the results are in order.

        A filter with a text that no request can carry is refused here.

        Raises:
            ValueError: a filter has an UNKNOWN in it, for which a server closes the connection.
            ClientError: nobody knows what became of it.

        """
        for each in filters:
            check_filter(each)
        refused = [Deleted(unencodable(each)) for each in filters]
        return await self._rest(filters, refused, self._delete)

    async def _delete(self, filters: Sequence[AclBindingFilter]) -> list[Deleted]:
        request = deleting(filters)
        answer = await self._nodes.call(request, DeleteAclsResponse, controller=True)
        return [_deleted(each) for each in answer.filter_results]

    # --- users of SCRAM

    async def scram_credentials(self) -> dict[str, dict[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted.

        Mechanisms that this version does not know are left out.

        Raises:
            ApiFailure: the server refuses.
            ClientError: anything else.

        """
        # Few clients ask for users.
        from doorkeeper.client.scram import described  # noqa: PLC0415
        from doorkeeper_wire.messages.describe_user_scram_credentials import (  # noqa: PLC0415
            DescribeUserScramCredentialsRequest,
            DescribeUserScramCredentialsResponse,
        )

        answer = await self.call(
            DescribeUserScramCredentialsRequest(), DescribeUserScramCredentialsResponse
        )
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        return described(answer)

    async def alter_scram_credentials(
        self, changes: Sequence[ScramPassword | ScramDeletion]
    ) -> list[Altered]:
        """Give passwords and take them away; the results are in order.

        A request may change one credential of a user: those of one user go one after the other.

        Raises:
            ValueError: a mechanism is none of SCRAM.
            ClientError: nobody knows what became of it.

        """
        from doorkeeper.client.scram import Altered, altered, rounds  # noqa: PLC0415  as above

        results = [Altered()] * len(changes)
        for round_ in rounds(changes):
            made = [changes[at] for at in round_]
            answered = await self._each(made, lambda rest: altered(self._nodes, rest))
            for at, result in zip(round_, answered, strict=True):
                results[at] = result
        return results

    async def _rest(
        self,
        items: Sequence[I],
        results: list[R],
        ask: Callable[[Sequence[I]], Awaitable[Sequence[R]]],
    ) -> list[R]:
        """Ask for those items that have no error already; return the results of all."""
        sent = [at for at, each in enumerate(results) if each.error is None]
        if sent:
            answered = await self._each([items[at] for at in sent], ask)
            for at, result in zip(sent, answered, strict=True):
                results[at] = result
        return results

    async def _each(
        self, items: Sequence[I], ask: Callable[[Sequence[I]], Awaitable[Sequence[R]]]
    ) -> list[R]:
        """Ask for items, for some of them again where their results say so."""
        results: dict[int, R] = {}
        waiting = list(range(len(items)))

        async def once() -> None:
            nonlocal waiting
            found = await ask([items[at] for at in waiting])
            if len(found) != len(waiting):
                raise ClientError(f"{len(found)} results came for {len(waiting)} items")
            results.update(zip(waiting, found, strict=True))
            waiting = [at for at in waiting if _is_again(results[at])]
            if waiting:
                raise Again(str(results[waiting[0]].error))

        # Where there is no time for another try, the items' own errors say it best.
        with contextlib.suppress(Again):
            await self._nodes.retried(once)
        return [results[at] for at in range(len(items))]


def _is_again(result: _Result) -> bool:
    return result.error is not None and result.error.code in AGAIN


def _deleted(result: DeleteAclsFilterResult) -> Deleted:
    removed = (
        Removed(deleted(each), error_of(each.error_code, each.error_message))
        for each in result.matching_acls
    )
    return Deleted(error_of(result.error_code, result.error_message), tuple(removed))
