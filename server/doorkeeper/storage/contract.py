"""What the server asks of a store, whichever database stands behind it.

A request that changes something is one ``Change``, becomes one revision, and is durable as a whole
or not at all. Changes are committed in the order of ``submit``; several may share one commit.

What is submitted is a *plan*: a function that works the change out on the newest state. A store
that this process alone writes calls it at once. One that nodes share calls it when this node may
write and has followed what the others wrote, so that no plan is made on a state that has passed.

    alone    submit -> plan -> write -> on_done
    shared   submit -> wait for the pen -> follow others' changes -> plan -> write -> on_done

When a change cannot be stored, every change that was planned after it, and before its failure
was delivered, fails with it: they were computed on top of it. The submitter goes back to the
last state that is durable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

from doorkeeper.metrics.hooks import StoreSight
from doorkeeper.value import Value

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping
    from uuid import UUID

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.authorizer.contract import AuthorizableRequestContext


class StorageError(Exception):
    """A change was not stored; the text says why and names the file."""


class StoreInUse(StorageError):
    """Another process has the store, most likely its server."""


class StoreAway(StorageError):
    """A shared store could not be reached in time; the change was withdrawn and will never be."""


class OutcomeUnknown(StorageError):
    """A shared store went away while it committed: the change may have become durable, or not."""


class StoredBinding(NamedTuple):
    """A binding and the id (22 characters) that it keeps from its creation."""

    binding_id: str
    binding: AclBinding


class StoredTopic(NamedTuple):
    """A topic that was made over the wire. ``topic_id`` has 16 bytes."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class ConfigKey(NamedTuple):
    """Whose value of which key: ``broker`` is a node's id as text, empty for all nodes."""

    broker: str
    name: str


class CredentialKey(NamedTuple):
    """Whose SCRAM credential, and for which mechanism, by Kafka's name: ``SCRAM-SHA-256``."""

    user: str
    mechanism: str


class StoredToken(NamedTuple):
    """A delegation token without what logs in with it: neither its HMAC nor the secret.

    Principals are texts such as ``User:alice``; times are milliseconds since 1970.
    ``fingerprint`` is the same for all tokens of one secret, and tells nothing of it.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int
    fingerprint: bytes


class Author(NamedTuple):
    """Who changed something, and from where: what the change log keeps beside each row."""

    principal: str
    host: str
    listener: str
    client_id: str


class Asker(Author):
    """An author who asked over the wire, with the request: for the audit trail of this node.

    The request is not stored, and an author without it is equal.
    """

    asked: AuthorizableRequestContext

    @classmethod
    def of(cls, asked: AuthorizableRequestContext) -> Self:
        """Return who sent a request."""
        who = asked.principal
        author = cls(
            principal=f"{who.principal_type}:{who.name}",
            host=asked.client_address,
            listener=asked.listener_name,
            client_id=asked.client_id,
        )
        author.asked = asked
        return author


class Change(Value):
    """All that one request changes. An empty one is no revision, but keeps its place in line."""

    author: Author
    bindings_added: tuple[StoredBinding, ...] = ()
    bindings_removed: tuple[StoredBinding, ...] = ()
    topics_added: tuple[StoredTopic, ...] = ()
    topics_removed: tuple[str, ...] = ()
    topics_altered: tuple[StoredTopic, ...] = ()
    configs_set: tuple[tuple[ConfigKey, str], ...] = ()
    configs_deleted: tuple[ConfigKey, ...] = ()
    credentials_set: tuple[tuple[CredentialKey, ScramCredential], ...] = ()
    credentials_deleted: tuple[CredentialKey, ...] = ()
    tokens_set: tuple[StoredToken, ...] = ()
    tokens_deleted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether there is anything to write."""
        return bool(
            self.bindings_added
            or self.bindings_removed
            or self.topics_added
            or self.topics_removed
            or self.topics_altered
            or self.configs_set
            or self.configs_deleted
            or self.credentials_set
            or self.credentials_deleted
            or self.tokens_set
            or self.tokens_deleted
        )


class StoredState(Value):
    """All that a store holds at one revision.

    ``made_by`` is the commit that made the revision, where nodes share it; None: it was copied.
    """

    revision: int
    made_by: UUID | None = None
    bindings: tuple[StoredBinding, ...] = ()
    topics: tuple[StoredTopic, ...] = ()
    configs: tuple[tuple[ConfigKey, str], ...] = ()
    credentials: tuple[tuple[CredentialKey, ScramCredential], ...] = ()
    tokens: tuple[StoredToken, ...] = ()


class Participant:
    """One who plans changes, and whose state the changes of other nodes reach.

    All is called on the loop's thread, and only by a store that nodes share.
    """

    def rewind(self) -> None:
        """Forget what was planned and is not durable: it will be planned again, or has failed."""

    def follow(self, change: Change) -> None:
        """Take a durable change of another node into the state. Nothing planned is on its way."""

    async def reload(self, state: StoredState) -> None:
        """Take a whole state, where the changes that led to it can no longer be told."""


class Store(ABC):
    """The durable state of one node, or of several that share it."""

    @property
    @abstractmethod
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster; made once, with the store."""

    @property
    @abstractmethod
    def salt_key(self) -> bytes:
        """Return 32 secret bytes, made once: under them a name that nobody has gets its salt."""

    @property
    @abstractmethod
    def revision(self) -> int:
        """Return the number of the last durable revision, as delivered; 0 in a new store."""

    @abstractmethod
    def bindings(self) -> Iterator[StoredBinding]:
        """Read all bindings, in no order. For the start, before the first ``submit``."""

    @abstractmethod
    def topics(self) -> Iterator[StoredTopic]:
        """Read all topics. For the start, before the first ``submit``."""

    @abstractmethod
    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        """Read all dynamic values of keys. For the start, before the first ``submit``."""

    @abstractmethod
    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        """Read all SCRAM credentials. For the start, before the first ``submit``."""

    @abstractmethod
    def tokens(self) -> Iterator[StoredToken]:
        """Read all delegation tokens. For the start, before the first ``submit``."""

    def join(self, participant: Participant) -> None:  # noqa: B027 - alone, nobody need be told
        """Note who follows the changes of other nodes; before ``start``."""

    @abstractmethod
    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to take changes; results are delivered on this loop."""

    @abstractmethod
    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        """Plan a change and write it; never blocks.

        ``plan`` may be called at once or later, and again after a ``rewind``: the last call counts.
        ``on_done`` is called on the loop's thread, in the order of submission, with the revision
        (the last one, where the change was empty) or the error. One commit is delivered in one
        turn of the loop. Where the change is empty and nothing is on its way, it may be called
        before this returns.
        """

    def sight(self) -> StoreSight:
        """Return how this node sees the store now; never blocks. For readiness and metrics.

        A store that other nodes write too has an answer of its own.
        """
        return StoreSight(True, self.revision, self.revision)

    @abstractmethod
    def close(self) -> None:
        """Commit what was submitted, then release the database. Blocks; may be called twice.

        A store that nodes share cannot wait here: what it has not written fails. See ``aclose``.
        """

    async def aclose(self) -> None:
        """Commit what was submitted, then release the database; may be called twice."""
        self.close()
