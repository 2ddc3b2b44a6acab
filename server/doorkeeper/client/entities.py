"""Topics, SCRAM users and client quotas: their descriptions, and their changes.

Changes of one kind go in one request, as far as the protocol allows it.

Source: ``KafkaAdminClient`` of kafka-clients 4.3.1; KIP-339, KIP-546, KIP-554.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.acls.entities.model import Credential, Quota, TopicEntity, client_of
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.errors import ApiFailure, ClientError, error_of
from doorkeeper.client.scram import Altered, ScramDeletion, ScramPassword
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from doorkeeper_wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from doorkeeper_wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from doorkeeper_wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from doorkeeper.acls.entities.model import Entity, EntitySet
    from doorkeeper.acls.entities.plan import EntityChange
    from doorkeeper.base.errors import ApiError
    from doorkeeper.client.nodes import Nodes
    from doorkeeper_wire.message import Message

    Call = Callable[[Message, type[Message]], Awaitable[Any]]

_TOPIC: Final = 2
"""The code of topics among the resources of configurations."""
_OF_TOPIC: Final = 1
"""The source of settings that were given to a topic."""
_SET, _DELETE = 0, 1
_TIMEOUT_MS: Final = 30_000
_CLUSTER_DEFAULT: Final = -1


# --- descriptions


async def describe_entities(call: Call, desired: EntitySet) -> list[Entity]:
    """Return the present topics and quotas, if any of them are wanted or owned.

    Of topics only those with a name that is wanted or owned, unless a prefix is owned; their
    settings are asked for where they are wanted.
    """
    present: list[Entity] = []
    if desired.concerns(TopicEntity):
        present += await _topics(call, desired)
    if desired.concerns(Quota):
        present += await _quotas(call)
    return present


def credentials_of(users: Mapping[str, Mapping[str, int]]) -> Iterator[Credential]:
    """Yield the credentials of iterations by user and mechanism."""
    for user, has in users.items():
        for mechanism, iterations in has.items():
            yield Credential(user, mechanism, iterations)


async def _topics(call: Call, desired: EntitySet) -> list[TopicEntity]:
    names = desired.topic_names
    requested = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
    # An empty list means no topics, and null all of them.
    request = MetadataRequest(topics=requested, allow_auto_topic_creation=False)
    answer = await call(request, MetadataResponse)
    topics: dict[str, TopicEntity] = {}
    for topic in answer.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic.is_internal:
            continue
        _check(f"topic {topic.name}", topic.error_code)
        # While a partition has no leader yet, the topic is there.
        replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else None
        topics[topic.name or ""] = TopicEntity(
            topic.name or "", len(topic.partitions) or None, replicas
        )
    with_configs = {
        entity.name
        for entity in desired.entities
        if isinstance(entity, TopicEntity) and entity.configs is not None
    }
    return await _with_configs(call, topics, with_configs & topics.keys())


async def _with_configs(
    call: Call, topics: dict[str, TopicEntity], names: set[str]
) -> list[TopicEntity]:
    if names:
        resources = tuple(
            DescribeConfigsResource(resource_type=_TOPIC, resource_name=name)
            for name in sorted(names)
        )
        answer = await call(DescribeConfigsRequest(resources=resources), DescribeConfigsResponse)
        for result in answer.results:
            subject = f"settings of topic {result.resource_name}"
            _check(subject, result.error_code, result.error_message)
            configs = tuple(
                sorted(
                    (config.name, config.value or "")
                    for config in result.configs
                    # Values of brokers and defaults are no properties of the topic.
                    if config.config_source == _OF_TOPIC
                )
            )
            name = result.resource_name
            topics[name] = topics[name]._replace(configs=configs)
    return list(topics.values())


async def _quotas(call: Call) -> list[Quota]:
    answer = await call(DescribeClientQuotasRequest(), DescribeClientQuotasResponse)
    if answer.error_code:
        raise ApiFailure(answer.error_code, answer.error_message)
    return [
        Quota(client_of(names), value.key, value.value)
        for entry in answer.entries or ()
        if (names := {part.entity_type: part.entity_name for part in entry.entity})
        and client_of(names)
        for value in entry.values
    ]


def _check(subject: str, code: int, message: str | None = None) -> None:
    if code:
        raise ClientError(f"{subject}: {ApiFailure(code, message)}")


# --- changes


def scram_change(
    change: EntityChange, passwords: Mapping[str, str]
) -> ScramPassword | ScramDeletion:
    """Return the change of a credential; ``passwords`` has them by reference."""
    entity = change.entity
    assert isinstance(entity, Credential)
    if change.after is None:
        return ScramDeletion(entity.user, entity.mechanism)
    password = passwords[entity.password]
    if entity.iterations is None:
        return ScramPassword(entity.user, entity.mechanism, password)
    return ScramPassword(entity.user, entity.mechanism, password, entity.iterations)


async def alter(nodes: Nodes, changes: Sequence[EntityChange]) -> list[Altered]:
    """Make changes of topics and quotas; the results are in order."""
    errors: dict[tuple[object, ...], ApiError | None] = {}
    # One after the other: a topic gets its partitions before its settings, as they are printed.
    for request, answer in _requests(changes):
        response = await nodes.call(request, answer, controller=True)
        for key, error in _results(response):
            # The settings of a topic are tried also where its partitions could not be changed.
            errors[key] = errors.get(key) or error
    unanswered = [change.entity for change in changes if _key(change) not in errors]
    if unanswered:
        raise ClientError(f"the responses lack {len(unanswered)} of {len(changes)} changes")
    return [Altered(errors[_key(change)]) for change in changes]


def _requests(changes: Sequence[EntityChange]) -> Iterator[tuple[Message, type[Message]]]:
    created, altered, deleted = [], [], []
    for before, after in changes:
        if isinstance(after, TopicEntity):
            if isinstance(before, TopicEntity):
                altered.append((before, after))
            else:
                created.append(_creation(after))
        elif isinstance(before, TopicEntity):
            deleted.append(DeleteTopicState(name=before.name))
    if created:
        request: Message = CreateTopicsRequest(topics=tuple(created), timeout_ms=_TIMEOUT_MS)
        yield request, CreateTopicsResponse
    grown = tuple(
        CreatePartitionsTopic(name=after.name, count=after.partitions, assignments=None)
        for before, after in altered
        if after.partitions is not None and after.partitions != before.partitions
    )
    if grown:
        request = CreatePartitionsRequest(topics=grown, timeout_ms=_TIMEOUT_MS)
        yield request, CreatePartitionsResponse
    edits = ((after.name, tuple(_edits(before, after))) for before, after in altered)
    resources = tuple(
        AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=configs)
        for name, configs in edits
        if configs
    )
    if resources:
        yield IncrementalAlterConfigsRequest(resources=resources), IncrementalAlterConfigsResponse
    if deleted:
        request = DeleteTopicsRequest(topics=tuple(deleted), timeout_ms=_TIMEOUT_MS)
        yield request, DeleteTopicsResponse
    if entries := tuple(_quota_entries(changes)):
        yield AlterClientQuotasRequest(entries=entries), AlterClientQuotasResponse


def _creation(topic: TopicEntity) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions or _CLUSTER_DEFAULT,
        replication_factor=topic.replication_factor or _CLUSTER_DEFAULT,
        configs=tuple(
            CreatableTopicConfig(name=name, value=value) for name, value in topic.configs or ()
        ),
    )


def _edits(before: TopicEntity, after: TopicEntity) -> Iterator[AlterableConfig]:
    if before.configs is None or after.configs is None:
        return
    now, goal = dict(before.configs), dict(after.configs)
    # Single settings, not all of them: others may have changed one that no file names.
    for name, value in goal.items():
        if now.get(name) != value:
            yield AlterableConfig(name=name, config_operation=_SET, value=value)
    for name in now.keys() - goal:
        yield AlterableConfig(name=name, config_operation=_DELETE, value=None)


def _quota_entries(changes: Sequence[EntityChange]) -> Iterator[EntryData]:
    # A broker refuses a request in which a client stands twice.
    by_client: dict[tuple[tuple[str, str | None], ...], list[OpData]] = {}
    for change in changes:
        if isinstance(change.entity, Quota):
            removes = change.after is None
            value = 0.0 if removes else change.entity.value
            limits = by_client.setdefault(change.entity.client, [])
            limits.append(OpData(key=change.entity.limit, value=value, remove=removes))
    for client, limits in by_client.items():
        parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in client)
        yield EntryData(entity=parts, ops=tuple(limits))


def _key(change: EntityChange) -> tuple[object, ...]:
    entity = change.entity
    return (Quota, entity.client) if isinstance(entity, Quota) else (type(entity), entity.key[0])


def _results(answer: object) -> Iterator[tuple[tuple[object, ...], ApiError | None]]:
    """Yield the error of each item of a response, by its key."""
    if isinstance(answer, AlterClientQuotasResponse):
        for entry in answer.entries:
            client = client_of({part.entity_type: part.entity_name for part in entry.entity})
            yield (Quota, client), error_of(entry.error_code, entry.error_message)
        return
    rows, name = _ROWS[type(answer)]
    for row in getattr(answer, rows):
        yield (TopicEntity, getattr(row, name)), error_of(row.error_code, row.error_message)


_ROWS: Final[dict[type, tuple[str, str]]] = {
    CreateTopicsResponse: ("topics", "name"),
    CreatePartitionsResponse: ("results", "name"),
    IncrementalAlterConfigsResponse: ("responses", "resource_name"),
    DeleteTopicsResponse: ("responses", "name"),
}
"""The items of responses about topics, and their names."""
