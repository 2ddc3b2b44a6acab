"""What the server asks of a store, whichever database stands behind it.

A request that changes something is one ``Change``, becomes one revision, and is durable as a whole
or not at all. Changes are committed in the order of ``submit``; several may share one commit.

When a change cannot be stored, every change that was submitted after it, and before its failure
was delivered, fails with it: they were computed on top of it. The submitter goes back to the
last state that is durable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Mapping

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.authn.credentials import ScramCredential


class StorageError(Exception):
    """A change was not stored; the text says why and names the file."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
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

    @abstractmethod
    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to take changes; results are delivered on this loop."""

    @abstractmethod
    def submit(self, change: Change, on_done: Callable[[int | StorageError], None]) -> None:
        """Write a change; never blocks.

        ``on_done`` is called on the loop's thread, in the order of submission, with the revision
        (the last one, where the change was empty) or the error. One commit is delivered in one
        turn of the loop.
        """

    @abstractmethod
    def close(self) -> None:
        """Commit what was submitted, then release the database. Blocks; may be called twice."""
