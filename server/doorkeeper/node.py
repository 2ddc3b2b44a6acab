"""What a handler sees of its server, and what it may return.

A handler is a pure function of a request, its context and a ``Node``. It reads; it changes
nothing. What shall be changed it returns as a value, with a function that makes the response
from the results; the connection's shell carries it out in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from doorkeeper.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter, ResourcePattern
    from doorkeeper.authorizer.contract import (
        AclCreateResult,
        AclDeleteResult,
        Action,
        AuthorizableRequestContext,
        AuthorizationResult,
    )
    from doorkeeper.config.dynamic_values import DynamicValues
    from doorkeeper.config.settings import Settings
    from doorkeeper.delegation_tokens import SignedToken, TokenReads, TokenWish
    from doorkeeper.errors import ApiError
    from doorkeeper.storage.contract import StoredTopic


class Response(Protocol):
    """Any generated response message."""

    def encode(self, version: int) -> bytes:
        """Return the body for a version of the API."""
        ...


class Broker(NamedTuple):
    """One node as clients see it: the address is the one to dial."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class Member(NamedTuple):
    """A node that lives, as the others know it.

    ``addresses`` are host and port by the name of the listener. ``secret`` is the fingerprint of
    the secret under which it makes delegation tokens, in hexadecimal; empty where it makes none.
    """

    node_id: int
    addresses: Mapping[str, tuple[str, int]]
    rack: str | None
    secret: str


class ApiRange(NamedTuple):
    """One row of the answer to ApiVersions."""

    api_key: int
    min_version: int
    max_version: int


class Topic(NamedTuple):
    """A topic that Metadata can tell of.

    ``origin`` is the catalog file that declares it; None for one that was made over the wire.
    """

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    internal: bool = False
    origin: str | None = None


class GroupMember(NamedTuple):
    """A member of a group; ``metadata`` and ``assignment`` are the consumer protocol's bytes."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class Group(NamedTuple):
    """A group from the catalog. ``group_type`` is ``classic`` or ``consumer``."""

    group_id: str
    state: str
    group_type: str
    protocol_type: str
    protocol: str
    members: tuple[GroupMember, ...]


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


class RequestContext(NamedTuple):
    """A request's circumstances: what the authorizer may know, and what only handlers need."""

    authorizable: AuthorizableRequestContext
    description: str
    """The text ``Request(...)`` that a broker's refusals contain."""
    controller_listener: bool
    """True on a listener named in ``controller.listener.names``."""
    token_authenticated: bool = False
    """True where the client logged in with a delegation token."""


class CreateAcls(Value):
    """Bindings that the authorizer shall create before ``finish`` makes the response."""

    bindings: tuple[AclBinding, ...]
    finish: Callable[[Sequence[AclCreateResult]], Response]


class DeleteAcls(Value):
    """Filters whose matches the authorizer shall delete before ``finish`` makes the response."""

    filters: tuple[AclBindingFilter, ...]
    finish: Callable[[Sequence[AclDeleteResult]], Response]


class ChangeTopics(Value):
    """Topics to make and names to delete, as one change; each gets an error or None, in order.

    ``wait`` is false where the answer does not depend on the outcome (auto-creation): ``finish``
    is then called at once with no results.
    """

    created: tuple[StoredTopic, ...] = ()
    deleted: tuple[str, ...] = ()
    finish: Callable[[Sequence[ApiError | None]], Response]
    wait: bool = True


class Alteration(NamedTuple):
    """What shall become of one key; ``operation`` is the code of a ``ConfigOperation``."""

    name: str
    operation: int
    value: str | None


class AlteredResource(NamedTuple):
    """A topic or a broker whose keys shall change; a broker without a name is all of them.

    ``replaces`` says that keys which are not named lose their values.
    """

    is_topic: bool
    name: str
    alterations: tuple[Alteration, ...]
    replaces: bool = False

    def given_of(self, dynamic: DynamicValues) -> Mapping[str, str]:
        """Return the values of a broker, or of all, that a change begins with."""
        if self.replaces:
            return {}
        return dynamic.broker if self.name else dynamic.cluster


class AlterConfigs(Value):
    """Resources whose keys shall change; each gets an error or None, in order.

    ``validate_only`` changes nothing and answers as if it had.
    """

    resources: tuple[AlteredResource, ...]
    validate_only: bool
    finish: Callable[[Sequence[ApiError | None]], Response]


class CredentialDeletion(NamedTuple):
    """A SCRAM credential to delete; ``mechanism`` is Kafka's code, or none of Kafka's."""

    user: str
    mechanism: int


class CredentialUpsertion(NamedTuple):
    """A SCRAM credential to make or replace, of a password that the client has salted."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        """Leave out what is as good as the password."""
        return f"CredentialUpsertion(of {self.user!r}, {self.mechanism})"


class AlterCredentials(Value):
    """SCRAM credentials to change; each of ``users`` gets an error or None, in order.

    A user's changes are made as a whole or not at all.
    """

    deletions: tuple[CredentialDeletion, ...]
    upsertions: tuple[CredentialUpsertion, ...]
    finish: Callable[[Sequence[ApiError | None]], Response]

    @property
    def users(self) -> tuple[str, ...]:
        """Return everyone who is named, once, in order."""
        deleted = (each.user for each in self.deletions)
        upserted = (each.user for each in self.upsertions)
        return tuple(dict.fromkeys((*deleted, *upserted)))


class ChangeToken(Value):
    """A delegation token that shall be made, renewed or ended.

    There is one result: an error, or the token as it is then, with its HMAC. One that is gone has
    ended at ``expiry_ms``.
    """

    wish: TokenWish
    finish: Callable[[Sequence[ApiError | SignedToken]], Response]


Outcome = (
    Response
    | CreateAcls
    | DeleteAcls
    | ChangeTopics
    | AlterConfigs
    | AlterCredentials
    | ChangeToken
)
"""What a handler returns: an answer, or what must be done before there is one."""
