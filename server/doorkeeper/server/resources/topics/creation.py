"""Validation of new topics, and their defaults.

Source: the controller's ``ReplicationControlManager.createTopics`` (4.3.1), and the broker's
``AutoTopicCreationManager`` for topics that Metadata creates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.keys import DEFAULT_REPLICATION_FACTOR, NUM_PARTITIONS
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.policies.contract import (
    ConfigAlteration,
    ConfigResourceType,
    TopicCreation,
)
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.topic import InvalidConfig, check_configs
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS, reason_invalid
from doorkeeper.server.resources.topics.placement import assignments, text_of
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)

# A request for more partitions is rejected as a whole.
PARTITIONS_PER_REQUEST_MAX = 10_000

# Default number of partitions of internal topics.
INTERNAL_PARTITIONS = 50


class CreatingNode(Protocol):
    """The part of a node that the creation of a topic uses."""

    @property
    def settings(self) -> Settings: ...

    @property
    def topics(self) -> Topics: ...

    @property
    def policies(self) -> Policies: ...

    def new_topic_id(self) -> bytes: ...


def partitions_of(desired: CreatableTopic, node: CreatingNode) -> int:
    if desired.assignments:
        return len(desired.assignments)
    return node.settings[NUM_PARTITIONS] if desired.num_partitions == -1 else desired.num_partitions


def records_of(topic: StoredTopic) -> int:
    """Return the number of records that a controller would write for a topic."""
    return 1 + len(topic.configs) + topic.partitions


def plan_topic(
    desired: CreatableTopic, node: CreatingNode, brokers: Sequence[Broker]
) -> StoredTopic:
    """Return the topic to store; ``brokers`` are the registered ones."""
    _check_name(desired.name, node)
    configs = _checked_configs(desired.configs)
    if configs:
        # A controller treats the configuration of a new topic as an alteration.
        topic = ConfigResourceType.TOPIC
        node.policies.check_alteration(ConfigAlteration(topic, desired.name, dict(configs)))
    if desired.assignments:
        partitions, replication_factor = _manual_placement(desired, brokers)
        placed = tuple(row.broker_ids for row in _sorted(desired.assignments))
    else:
        partitions, replication_factor = _default_placement(desired, node, len(brokers))
        placed = assignments(brokers, 0, partitions, replication_factor)
    node.policies.check_creation(_creation(desired, partitions, replication_factor, configs))
    return StoredTopic(
        name=desired.name,
        topic_id=node.new_topic_id(),
        partitions=partitions,
        replication_factor=replication_factor,
        configs=configs,
        assignments=tuple(map(text_of, placed)),
    )


def _creation(
    desired: CreatableTopic, partitions: int, replication_factor: int, configs: Mapping[str, str]
) -> TopicCreation:
    """Return a topic as its policy sees it: with numbers, or with chosen brokers."""
    if not desired.assignments:
        return TopicCreation(desired.name, partitions, replication_factor, None, dict(configs))
    # A controller has them in the order of partitions, and a policy tells its first finding.
    chosen = {row.partition_index: list(row.broker_ids) for row in _sorted(desired.assignments)}
    return TopicCreation(desired.name, None, None, chosen, dict(configs))


def _sorted(rows: Iterable[CreatableReplicaAssignment]) -> list[CreatableReplicaAssignment]:
    return sorted(rows, key=attrgetter("partition_index"))


def _check_name(name: str, node: CreatingNode) -> None:
    # The order is the controller's: existence, collision, then the form of the name.
    if node.topics.get(name) is not None:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    colliding = node.topics.colliding(name)
    if colliding is not None:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {colliding}",
        )
    reason = reason_invalid(name)
    if reason is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def _checked_configs(given: Iterable[CreatableTopicConfig]) -> dict[str, str]:
    without_value = [config.name for config in given if config.value is None]
    if without_value:
        names = ",".join(without_value)
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {names}"
        )
    configs = {config.name: config.value for config in given if config.value is not None}
    try:
        check_configs(configs)
    except InvalidConfig as fault:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(fault)) from None
    return configs


def _default_placement(
    desired: CreatableTopic, node: CreatingNode, brokers: int
) -> tuple[int, int]:
    """Return the partitions and the replication factor, with defaults."""
    if desired.replication_factor < -1 or desired.replication_factor == 0:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if desired.num_partitions < -1 or desired.num_partitions == 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    factor = desired.replication_factor
    if factor == -1:
        factor = node.settings[DEFAULT_REPLICATION_FACTOR]
    if factor > brokers:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of"
            f" {factor} cannot be reached because only {brokers} broker(s) are registered or some"
            " brokers have all their log directories cordoned.",
        )
    return partitions_of(desired, node), factor


def _manual_placement(desired: CreatableTopic, brokers: Sequence[Broker]) -> tuple[int, int]:
    """Return the partitions and the replication factor of a manual assignment."""
    for number, what in (
        (desired.replication_factor, "replication factor was not set to -1."),
        (desired.num_partitions, "numPartitions was not set to -1."),
    ):
        if number != -1:
            text = f"A manual partition assignment was specified, but {what}"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
    factor: int | None = None
    seen: set[int] = set()
    for row in desired.assignments:
        partition, replicas = row.partition_index, row.broker_ids
        if partition in seen:
            raise _bad_assignment(
                f"Found multiple manual partition assignments for partition {partition}"
            )
        check_replicas(replicas, factor, brokers)
        check_any_lives(partition, replicas, brokers)
        factor = len(replicas)
        seen.add(partition)
    if seen != set(range(len(seen))):
        raise _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    return len(seen), len(desired.assignments[0].broker_ids)


def check_replicas(replicas: Sequence[int], factor: int | None, brokers: Sequence[Broker]) -> None:
    """Check the brokers that a caller chose for a partition; ``factor`` is None for the first.

    Source: ``validateManualPartitionAssignment``.
    """
    prefix = "The manual partition assignment includes"
    if not replicas:
        raise _bad_assignment(f"{prefix} an empty replica list.")
    broker_ids = {registered.node_id for registered in brokers}
    previous: int | None = None
    for broker in sorted(replicas):
        if broker not in broker_ids:
            raise _bad_assignment(f"{prefix} broker {broker}, but no such broker is registered.")
        if broker == previous:
            raise _bad_assignment(f"{prefix} the broker {broker} more than once.")
        previous = broker
    if factor is not None and factor != len(replicas):
        raise _bad_assignment(
            f"{prefix} a partition with {len(replicas)} replica(s), but this is not consistent"
            f" with previous partitions, which have {factor} replica(s)."
        )


def check_any_lives(partition: int, replicas: Sequence[int], brokers: Sequence[Broker]) -> None:
    """Check that a live broker is among those that a caller chose for a partition."""
    if not any(broker.node_id in replicas and not broker.is_fenced for broker in brokers):
        raise _bad_assignment(
            "All brokers specified in the manual partition assignment for partition"
            f" {partition} are fenced or in controlled shutdown."
        )


def _bad_assignment(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)


def created_automatically(
    names: Iterable[str], node: CreatingNode, brokers: Sequence[Broker]
) -> tuple[StoredTopic, ...]:
    """Return the missing topics that can be created with the server's defaults."""
    topics = []
    for name in names:
        partitions = INTERNAL_PARTITIONS if name in INTERNAL_TOPICS else -1
        try:
            topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
            topics.append(plan_topic(topic, node, brokers))
        # Skipped without an error, as by a broker: the client asks again.
        except ApiError:
            continue
    return tuple(topics)
