"""Single requests as the differential suites send them to two servers, and scenarios of them.

A step names the user who asks (None is the super user ANONYMOUS on the plain listener), the
request, and the version.
"""

from types import ModuleType
from typing import Any, NamedTuple

from doorkeeper_wire.messages import (
    alter_configs,
    create_acls,
    create_topics,
    delete_acls,
    describe_acls,
    describe_configs,
    incremental_alter_configs,
    metadata,
)

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(2, 9)
DESCRIBE_CONFIGS, ALTER_CONFIGS = 10, 11

OPEN_FILTER = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
"""What a filter of DescribeAcls or DeleteAcls says when it matches every ACL."""


class Step(NamedTuple):
    """One request of a scenario."""

    user: str | None
    request: Any
    response: Any
    version: int


class Scenario(NamedTuple):
    """Steps that share one state; ``topics`` are made before the first step."""

    name: str
    steps: tuple[Step, ...]
    topics: tuple[str, ...] = ()
    groups: bool = False
    """True where a broker needs its group coordinator, which it starts when first asked for."""


def step(kind: ModuleType, version: int, **fields: Any) -> Step:
    """Return the step of the request that a module of messages has, with these fields."""
    words = kind.__name__.rpartition(".")[2].split("_")
    name = "".join(word.capitalize() for word in words)
    request, response = (getattr(kind, f"{name}{end}") for end in ("Request", "Response"))
    return Step(None, request(**fields), response, version)


def creation(**changed: Any) -> create_acls.AclCreation:
    """Return a good creation with some fields changed."""
    plain = {
        "resource_type": TOPIC,
        "resource_name": "orders",
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return create_acls.AclCreation(**{**plain, **changed})


def create(*creations: create_acls.AclCreation, version: int = 3, user: str | None = None) -> Step:
    """Return the step that creates these."""
    return step(create_acls, version, creations=tuple(creations))._replace(user=user)


def describe(version: int = 3, user: str | None = None, **changed: Any) -> Step:
    """Return the step that describes with an open filter, some fields changed."""
    return step(describe_acls, version, **{**OPEN_FILTER, **changed})._replace(user=user)


def delete_filter(**changed: Any) -> delete_acls.DeleteAclsFilter:
    """Return an open filter with some fields changed."""
    return delete_acls.DeleteAclsFilter(**{**OPEN_FILTER, **changed})


def delete(
    *filters: delete_acls.DeleteAclsFilter, version: int = 3, user: str | None = None
) -> Step:
    """Return the step that deletes what these match."""
    return step(delete_acls, version, filters=tuple(filters))._replace(user=user)


def as_users(*steps: Step) -> tuple[Step, ...]:
    """Return the steps as asked by alice, by bob and by the super user."""
    return tuple(step._replace(user=user) for user in ("alice", "bob", None) for step in steps)


def named(*names: str | None) -> tuple[metadata.MetadataRequestTopic, ...]:
    """Return these topic names as Metadata asks for them."""
    return tuple(metadata.MetadataRequestTopic(name=name) for name in names)


def ask_metadata(version: int, topics: Any, **flags: Any) -> Step:
    """Return the Metadata step; no topics are ever created by it."""
    plain: dict[str, Any] = {"allow_auto_topic_creation": version < 4, **flags}
    return step(metadata, version, topics=topics, **plain)


def new_topic(name: str, **changed: Any) -> create_topics.CreatableTopic:
    """Return a topic to create: one partition, one replica."""
    plain: dict[str, Any] = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return create_topics.CreatableTopic(**{**plain, **changed})


def make_topics(
    *topics: create_topics.CreatableTopic, version: int, validate: bool = False
) -> Step:
    """Return the CreateTopics step."""
    fields = {"timeout_ms": 10000, "validate_only": validate}
    return step(create_topics, version, topics=topics, **fields)


def ask_configs(version: int, resource_type: int, name: str, keys: Any, **flags: Any) -> Step:
    """Return the DescribeConfigs step for one resource."""
    resource = describe_configs.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    return step(describe_configs, version, resources=(resource,), **flags)


Altered = tuple[int, str, tuple[tuple[str, int, str | None], ...]]
"""A resource's type and name, and its keys: name, operation, value."""


def replace_configs(version: int, *resources: Altered) -> Step:
    """Return the AlterConfigs step, which takes no operations."""
    kind = alter_configs
    rows = tuple(
        kind.AlterConfigsResource(
            resource_type=resource_type,
            resource_name=name,
            configs=tuple(kind.AlterableConfig(name=key, value=value) for key, _, value in keys),
        )
        for resource_type, name, keys in resources
    )
    return step(kind, version, resources=rows)


def change_configs(version: int, *resources: Altered, validate: bool = False) -> Step:
    """Return the IncrementalAlterConfigs step."""
    kind = incremental_alter_configs
    rows = tuple(
        kind.AlterConfigsResource(
            resource_type=resource_type,
            resource_name=name,
            configs=tuple(
                kind.AlterableConfig(name=key, config_operation=operation, value=value)
                for key, operation, value in keys
            ),
        )
        for resource_type, name, keys in resources
    )
    return step(kind, version, resources=rows, validate_only=validate)
