"""The interfaces of the server that handlers use, and the outcomes that they may return.

A handler is a function of a request, its context and a ``Node``. It changes no state: what it asks
the authorizer is counted and logged, and caches are filled. To make a change it returns an
``Update``: a function that makes it, to be awaited, and one that builds the response from its
result. To wait for an event it returns a ``DelayedResponse``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

from msgspec import Struct

from doorkeeper.acls.model import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.resources.cluster import Broker, Group
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import AlteredResource
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import Results, commit
from doorkeeper.server.state.state import State
from doorkeeper.server.state.submissions import Plan

if TYPE_CHECKING:
    from doorkeeper.server.api.acl_rows import AclRows
    from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
    from doorkeeper.server.authorizer.result_checks import AclChange
    from doorkeeper.server.resources.tokens import Tokens
    from doorkeeper_wire.messages.api_versions import ApiVersion

R = TypeVar("R")


class Response(Protocol):
    """Any generated response message."""

    def encode(self, version: int) -> bytes:
        """Return the body for a version of the API."""
        ...


class AuthorizerReads(Protocol):
    """The part of an authorizer that handlers may call."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Answer each action, in order."""
        ...

    def acls(self, filter: AclBindingFilter) -> Iterable[AclBinding]: ...

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return a mask of allowed operations for each resource, in order."""
        ...

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Return whether the caller may do this to any resource of a type (KIP-679)."""
        ...


class Node(Protocol):
    """The server as its handlers see it. Each attribute is one consistent state."""

    node_id: int
    cluster_id: str
    """22 characters."""
    controller_id: int
    """One of ``brokers``, where it has the listener."""
    settings: Settings
    policies: Policies
    """Those that may refuse new topics."""

    @property
    def state(self) -> State:
        """Return the state that the node serves: one revision."""
        ...

    @property
    def coordinator_id(self) -> int:
        """Return the id of the one node that shows groups; with two, clients would count twice."""
        ...

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return the live nodes with the addresses they advertise on a listener.

        Empty for a listener that this node has not opened yet.
        """
        ...

    def registered_brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return the live nodes, and those of the cluster that do not live, which are fenced."""
        ...

    @property
    def authorizer(self) -> AuthorizerReads | None:
        """Return the authorizer; None allows everything."""
        ...

    def at_one_state(
        self,
        authorizer: AuthorizerReads | None,
        on_loop: Callable[[object], Any],
    ) -> Node:
        """Return the node for a handler in another thread, with this authorizer.

        ``on_loop`` returns an object that calls the methods of another one on the event loop.
        """
        ...

    @property
    def topics(self) -> Topics: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return all groups by id, joined or of offsets; empty if not the coordinator."""
        ...

    @property
    def acl_rows(self) -> AclRows | None:
        """Return the cache of encoded rows; None with a plug-in authorizer."""
        ...

    def now_ms(self) -> int:
        """Return the time, in milliseconds since 1970."""
        ...

    def new_topic_id(self) -> bytes:
        """Return an unused topic id (16 bytes)."""
        ...

    def new_producer_id(self) -> int:
        """Return an id for a producer, random among the non-negative numbers of 64 bits."""
        ...

    def api_ranges(self, *, controller: bool) -> Sequence[ApiVersion]:
        """Return the rows of ApiVersions for a listener of this kind."""
        ...


class UpdateOperation(StrEnum):
    """What an update changes: its label in metrics. That of ACLs is KIP-504's name."""

    ACLS = "acl-update"
    TOPICS = "topics"
    CONFIGS = "configs"
    CREDENTIALS = "credentials"
    TOKENS = "tokens"
    QUOTAS = "quotas"
    NODES = "nodes"
    OFFSETS = "offsets"


class AuthorizerUpdates(Protocol):
    """The part of an authorizer that changes ACLs."""

    async def change(
        self,
        change: AclChange,
        context: AuthorizableRequestContext,
        items: Sequence[Any],
        timeout_s: float,
    ) -> Results:
        """Create bindings or delete what filters match; there is a value for each item."""
        ...


class Services(Protocol):
    """The parts of a server that make changes."""

    @property
    def log(self) -> StateLog: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def authorizer(self) -> AuthorizerUpdates | None:
        """Return the authorizer that changes ACLs; None without one."""
        ...

    @property
    def update_timeout_s(self) -> float:
        """Return the time-out of an update by the authorizer."""
        ...

    async def resolvable(self, names: Iterable[str]) -> Collection[str]:
        """Return the host names that resolve to an address."""
        ...

    async def unregister_broker(self, node_id: int) -> None:
        """Remove a node from the cluster.

        Raises:
            ApiError: it is not registered, or the store is unavailable.
        """
        ...

    async def alter_configs(
        self, resources: Sequence[AlteredResource], context: RequestContext, *, validate_only: bool
    ) -> list[ApiError | None]:
        """Change the configuration of resources; return why each was refused, or None."""
        ...


class Update(Struct, frozen=True):
    """A change to make before the request is answered.

    A task (``net.updates``) awaits ``apply``, then the audit log's record of the change; then the
    connection encodes the response that ``respond`` builds from the result of ``apply``. An
    ``ApiError`` of ``apply`` is the error of the whole request.

    ``items`` is the number of items that may fail alone: one for each ACL, one for any other
    change. They count under ``operation``. ``wait`` is false where the response does not depend on
    the outcome: ``respond`` is then called at once, with None.
    """

    operation: UpdateOperation
    apply: Callable[[Services], Awaitable[Any]]
    respond: Callable[[Any], Response]
    items: int = 1
    wait: bool = True

    @classmethod
    def of_plan(
        cls,
        operation: UpdateOperation,
        plan: Plan[R],
        context: RequestContext,
        respond: Callable[[R], Response],
        refused: Callable[[ErrorCode], R] | None = None,
    ) -> Self:
        """Return the update that commits a plan of the state log, and responds with its result.

        ``refused`` makes the result of an error where other rows of the response have their own.
        """
        return cls(operation, partial(_commit, plan, context, refused), respond)


async def _commit(
    plan: Plan[R],
    context: RequestContext,
    refused: Callable[[ErrorCode], R] | None,
    services: Services,
) -> R:
    try:
        return await commit(services.log, plan, context)
    except ApiError as error:
        if refused is None:
            raise
        return refused(error.code)


def change_acls(
    change: AclChange, context: AuthorizableRequestContext, items: Sequence[Any], services: Services
) -> Awaitable[Results]:
    """Create or delete ACLs; a request without an authorizer is refused before."""
    authorizer = services.authorizer
    assert authorizer is not None, "without an authorizer the request is refused"
    return authorizer.change(change, context, items, services.update_timeout_s)


class DelayedResponse(NamedTuple):
    """A response that depends on later events, such as other requests or a time-out.

    It changes nothing that must survive its client: ``response`` is cancelled when the connection
    is closed. An ``ApiError`` is the error of the whole request.
    """

    response: Awaitable[Response]


Outcome = Response | Update | DelayedResponse | None
"""The result of a handler: None where the client wants no response."""
