"""Topics, credentials of SCRAM users, and client quotas: in files, and in clusters.

A credential is the password of a user for one mechanism, a quota is one limit of a client. The
names are those of kafka-configs.sh, where all of them are entities.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

DEFAULT_NAME: Final = "<default>"
"""The name, in files, of the quotas of all users, client ids or addresses without their own."""

CLIENT_QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
IP_QUOTAS: Final = ("connection_creation_rate",)
USER, CLIENT_ID, IP = "user", "client-id", "ip"


class EntityScope(Enum):
    """Kinds of names that a file can own; quotas of a user with a client id are of the user."""

    TOPIC = "topic"
    USER = "user"
    QUOTA_USER = "quotas of user"
    QUOTA_CLIENT_ID = "quotas of client id"
    QUOTA_IP = "quotas of ip"


class EntityName(NamedTuple):
    """The name by which an entity is owned; None is the default of quotas."""

    scope: EntityScope
    name: str | None

    def __str__(self) -> str:
        return f"{self.scope.value} {DEFAULT_NAME if self.name is None else repr(self.name)}"


class TopicEntity(NamedTuple):
    """A topic; None leaves a property to the cluster. ``configs`` are sorted pairs."""

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    configs: tuple[tuple[str, str], ...] | None = None

    @property
    def owner_name(self) -> EntityName:
        return EntityName(EntityScope.TOPIC, self.name)

    @property
    def key(self) -> tuple[object, ...]:
        """Return the identity of the entity, which all of its values share."""
        return (self.name,)


class Credential(Struct, frozen=True):
    """A user's password for a mechanism: a reference to it, empty where it is not known."""

    user: str
    mechanism: str
    iterations: int | None = None
    password: str = ""

    @property
    def owner_name(self) -> EntityName:
        return EntityName(EntityScope.USER, self.user)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.user, self.mechanism)


class Quota(Struct, frozen=True):
    """A limit of a client: the parts of its entity, type and name, and the limit."""

    client: tuple[tuple[str, str | None], ...]
    limit: str
    value: float

    @property
    def owner_name(self) -> EntityName:
        kind, name = self.client[0]
        scopes = {
            USER: EntityScope.QUOTA_USER,
            CLIENT_ID: EntityScope.QUOTA_CLIENT_ID,
            IP: EntityScope.QUOTA_IP,
        }
        return EntityName(scopes[kind], name)

    @property
    def key(self) -> tuple[object, ...]:
        return (self.client, self.limit)


Entity = TopicEntity | Credential | Quota


def client_of(names: dict[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Return the parts of a quota's entity in the order of ``Quota``: the owner first."""
    return tuple((kind, names[kind]) for kind in (USER, CLIENT_ID, IP) if kind in names)


class OwnedName(Struct, frozen=True):
    """A name that a file owns, or all names with a prefix, and the path to its declaration."""

    entity: EntityName
    is_prefix: bool = False
    path: tuple[str | int, ...] = ()

    def owns(self, name: EntityName) -> bool:
        scope, text = self.entity
        if not self.is_prefix or text is None or name.name is None:
            return name == self.entity
        return name.scope is scope and name.name.startswith(text)

    def overlaps(self, other: OwnedName) -> bool:
        return self.owns(other.entity) or other.owns(self.entity)

    def __str__(self) -> str:
        return f"{self.entity}{' and all with this prefix' if self.is_prefix else ''}"


class EntitySet(Struct, frozen=True):
    """The entities of a file, with the path to each, and the names that it owns."""

    entities: tuple[Entity, ...] = ()
    paths: tuple[tuple[str | int, ...], ...] = ()
    owned: tuple[OwnedName, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entities or self.owned)

    def owns(self, name: EntityName) -> bool:
        return any(owned_name.owns(name) for owned_name in self.owned)

    def owns_kind(self, kind: type[Entity]) -> bool:
        """Say whether any entities of a kind are owned."""
        kinds = {EntityScope.TOPIC: TopicEntity, EntityScope.USER: Credential}
        return any(kinds.get(name.entity.scope, Quota) is kind for name in self.owned)

    def concerns(self, kind: type[Entity]) -> bool:
        """Say whether any entities of a kind are wanted or owned."""
        return self.owns_kind(kind) or any(isinstance(entity, kind) for entity in self.entities)

    @property
    def topic_names(self) -> frozenset[str] | None:
        """Return the topics that are wanted or owned by name; None if a prefix is owned."""
        owned = [part for part in self.owned if part.entity.scope is EntityScope.TOPIC]
        if any(part.is_prefix for part in owned):
            return None
        named = {part.entity.name for part in owned if part.entity.name is not None}
        return frozenset(named).union(
            entity.name for entity in self.entities if isinstance(entity, TopicEntity)
        )
