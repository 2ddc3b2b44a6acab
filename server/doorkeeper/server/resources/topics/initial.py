"""Topics that a store begins with: those of a test server, and of ``doorkeeper learn``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from doorkeeper.acls.entities.model import Entity, TopicEntity
from doorkeeper.server.resources.settings.topic import InvalidConfig, check_configs
from doorkeeper.server.resources.topics.names import collision_key
from doorkeeper.server.schema.declared import StoredTopic

ID_BYTES = 16


def initial_topics(
    entities: Iterable[Entity], random_bytes: Callable[[int], bytes]
) -> list[StoredTopic]:
    """Return the rows of the topics among entities: by default one partition with one replica.

    Raises:
        ValueError: a setting is wrong, or two names collide.
    """
    rows: list[StoredTopic] = []
    names: dict[str, str] = {}
    topics = (entity for entity in entities if isinstance(entity, TopicEntity))
    for name, partitions, replication_factor, configs in topics:
        other = names.setdefault(collision_key(name) or name, name)
        if other != name:
            raise ValueError(f"topic {name}: collides with {other}")
        try:
            check_configs(dict(configs or ()))
        except InvalidConfig as error:
            raise ValueError(f"topic {name}: {error}") from None
        rows.append(
            StoredTopic(
                name,
                random_bytes(ID_BYTES),
                partitions or 1,
                replication_factor or 1,
                dict(configs or ()),
            )
        )
    return rows
