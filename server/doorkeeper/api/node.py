"""What a handler sees of its server, and what it may return.

A handler is a pure function of a request, its context and a ``Node``. It reads; it changes
nothing. What it wants changed it returns as an ``Update``: what to await, and how to build the
response from what comes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter, ResourcePattern
    from doorkeeper.authorizer.contract import Action, AuthorizationResult
    from doorkeeper.cluster.model import Broker, Group, Topic
    from doorkeeper.config.settings import Settings
    from doorkeeper.configs.operations import AlteredResource
    from doorkeeper.request_context import AuthorizableRequestContext, RequestContext
    from doorkeeper.state.log import StateLog
    from doorkeeper.state.outcome import Results
    from doorkeeper.state.state import State
    from doorkeeper.tokens.model import TokenReads, TokenWish


class Response(Protocol):
    """Any generated response message."""

    def encode(self, version: int) -> bytes:
        """Return the body for a version of the API."""
        ...


class ApiRange(NamedTuple):
    """One row of the answer to ApiVersions."""

    api_key: int
    min_version: int
    max_version: int


class Topics(Protocol):
    """All topics: those that the catalog declares and those made over the wire."""

    def get(self, name: str) -> Topic | None:
        """Return the topic of this name."""
        ...

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic of this id (16 bytes)."""
        ...

    def names(self) -> Sequence[str]:
        """Return all names, sorted."""
        ...

    def colliding(self, name: str) -> str | None:
        """Return a topic whose name differs from this one at most in dots and underscores."""
        ...


class ScramUsers(Protocol):
    """Who can log in by SCRAM, without what they log in with."""

    def names(self) -> Sequence[str]:
        """Return the names of all users, sorted."""
        ...

    def iterations_of(self, user: str) -> Mapping[str, int]:
        """Return the iterations of a user's credentials by mechanism; empty without any."""
        ...


class AuthorizerReads(Protocol):
    """The part of an authorizer that handlers may call."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Answer each action, in order."""
        ...

    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Return the bindings that the filter matches."""
        ...

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return a mask of allowed operations for each resource, in order."""
        ...


class AclRows(Protocol):
    """Rows of ACLs that are kept encoded."""

    def description(self, wanted: AclBindingFilter) -> Response | None:
        """Return the answer to a filter that asks for whole groups; None for any other."""
        ...


class Node(Protocol):
    """The server as its handlers see it. Each attribute is one consistent state."""

    @property
    def node_id(self) -> int:
        """Return this node's id."""
        ...

    @property
    def state(self) -> State:
        """Return everything that the node serves, at one revision."""
        ...

    @property
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster."""
        ...

    @property
    def controller_id(self) -> int:
        """Return the id of the controller: one of ``brokers``, where it has the listener."""
        ...

    @property
    def coordinator_id(self) -> int:
        """Return the id of the node that shows groups: one of all, or clients would count twice."""
        ...

    def brokers(self, listener_name: str) -> Sequence[Broker]:
        """Return the live nodes with the addresses they advertise on a listener; never empty."""
        ...

    @property
    def authorizer(self) -> AuthorizerReads | None:
        """Return who decides; None where no authorizer is configured: everything is allowed."""
        ...

    @property
    def topics(self) -> Topics:
        """Return all topics."""
        ...

    @property
    def tokens(self) -> TokenReads:
        """Return all delegation tokens."""
        ...

    @property
    def groups(self) -> Mapping[str, Group]:
        """Return all groups by id; none on a node that does not show them."""
        ...

    @property
    def scram_users(self) -> ScramUsers:
        """Return who can log in by SCRAM."""
        ...

    @property
    def settings(self) -> Settings:
        """Return the configuration."""
        ...

    @property
    def acl_rows(self) -> AclRows | None:
        """Return the rows of ACLs that are kept encoded; None where none are."""
        ...

    def new_topic_id(self) -> bytes:
        """Return an id (16 bytes) for a topic to be made, never given before."""
        ...

    def api_ranges(self, *, controller: bool) -> Sequence[ApiRange]:
        """Return what ApiVersions lists on a listener of this kind."""
        ...


ACL_UPDATE: Final = "acl-update"

OPERATIONS: Final = (ACL_UPDATE, "topics", "configs", "credentials", "tokens", "quotas")
"""What updates are counted under: those of ACLs by the name that KIP-504 gives them."""


class TokenChanges(Protocol):
    """What issues, renews and expires delegation tokens."""

    async def change(self, wish: TokenWish, context: RequestContext) -> Results:
        """Change a token; the value is an ``ApiError`` or a ``SignedToken``."""
        ...


class AuthorizerUpdates(Protocol):
    """The part of an authorizer that changes ACLs."""

    async def create(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding], timeout_s: float
    ) -> Results:
        """Create ACLs; the values are ``AclCreateResult``."""
        ...

    async def delete(
        self,
        context: AuthorizableRequestContext,
        filters: Sequence[AclBindingFilter],
        timeout_s: float,
    ) -> Results:
        """Delete ACLs; the values are ``AclDeleteResult``."""
        ...


class Services(Protocol):
    """The parts of a server that change something."""

    @property
    def log(self) -> StateLog:
        """Return the log of the node's state."""
        ...

    @property
    def tokens(self) -> TokenChanges:
        """Return the delegation tokens of the present secret."""
        ...

    @property
    def authorizer(self) -> AuthorizerUpdates | None:
        """Return what changes ACLs; None where no authorizer is configured."""
        ...

    @property
    def update_timeout_s(self) -> float:
        """Return for how long an authorizer may take over an update."""
        ...

    async def alter_configs(
        self, resources: Sequence[AlteredResource], context: RequestContext, *, validate_only: bool
    ) -> Results:
        """Change the configuration of topics and brokers; a value is an ``ApiError`` or None."""
        ...


class Update(NamedTuple):
    """What a handler wants changed before there is a response.

    The connection awaits ``apply``, then encodes what ``respond`` makes of the values. An
    ``ApiError`` that ``apply`` raises is the error of the whole request.
    ``items`` is how many results are waited for: one of each ACL, and one of any other change,
    whose items have one fate. They count under ``operation``, one of ``OPERATIONS``. ``wait`` is
    false where the response does not depend on the outcome: ``respond`` is then called at once,
    with no values.
    """

    operation: str
    items: int
    apply: Callable[[Services], Awaitable[Results]]
    respond: Callable[[Sequence[Any]], Response]
    wait: bool = True


Outcome = Response | Update | None
"""What a handler returns: None where the client wants no response."""
