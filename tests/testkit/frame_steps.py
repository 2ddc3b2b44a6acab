"""Single requests as the differential suites send them to two servers, and scenarios of them.

A step names the user who asks (None is the super user ANONYMOUS on the plain listener), the
request, and the version.
"""

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
    request = create_acls.CreateAclsRequest(creations=tuple(creations))
    return Step(user, request, create_acls.CreateAclsResponse, version)


def describe(version: int = 3, user: str | None = None, **changed: Any) -> Step:
    """Return the step that describes with an open filter, some fields changed."""
    request = describe_acls.DescribeAclsRequest(**{**OPEN_FILTER, **changed})
    return Step(user, request, describe_acls.DescribeAclsResponse, version)


def delete_filter(**changed: Any) -> delete_acls.DeleteAclsFilter:
    """Return an open filter with some fields changed."""
    return delete_acls.DeleteAclsFilter(**{**OPEN_FILTER, **changed})


def delete(
    *filters: delete_acls.DeleteAclsFilter, version: int = 3, user: str | None = None
) -> Step:
    """Return the step that deletes what these match."""
    request = delete_acls.DeleteAclsRequest(filters=tuple(filters))
    return Step(user, request, delete_acls.DeleteAclsResponse, version)


def as_users(*steps: Step) -> tuple[Step, ...]:
    """Return the steps as asked by alice, by bob and by the super user."""
    return tuple(step._replace(user=user) for user in ("alice", "bob", None) for step in steps)


def named(*names: str | None) -> tuple[metadata.MetadataRequestTopic, ...]:
    """Return these topic names as Metadata asks for them."""
    return tuple(metadata.MetadataRequestTopic(name=name) for name in names)


def ask_metadata(version: int, topics: Any, **flags: Any) -> Step:
    """Return the Metadata step; no topics are ever created by it."""
    plain: dict[str, Any] = {"allow_auto_topic_creation": version < 4, **flags}
    request = metadata.MetadataRequest(topics=topics, **plain)
    return Step(None, request, metadata.MetadataResponse, version)


def new_topic(name: str, **changed: Any) -> create_topics.CreatableTopic:
    """Return a topic to create: one partition, one replica."""
    plain: dict[str, Any] = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return create_topics.CreatableTopic(**{**plain, **changed})


def make_topics(
    *topics: create_topics.CreatableTopic, version: int, validate: bool = False
) -> Step:
    """Return the CreateTopics step."""
    request = create_topics.CreateTopicsRequest(
        topics=topics, timeout_ms=10000, validate_only=validate
    )
    return Step(None, request, create_topics.CreateTopicsResponse, version)


def ask_configs(version: int, resource_type: int, name: str, keys: Any, **flags: Any) -> Step:
    """Return the DescribeConfigs step for one resource."""
    kind = describe_configs
    resource = kind.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    request = kind.DescribeConfigsRequest(resources=(resource,), **flags)
    return Step(None, request, kind.DescribeConfigsResponse, version)


Altered = tuple[int, str, tuple[tuple[str, int, str | None], ...]]
"""A resource's type and name, and its keys: name, operation, value."""


def replace_configs(version: int, *resources: Altered) -> Step:
    """Return the AlterConfigs step, which takes no operations."""
    kind = alter_configs
    request = kind.AlterConfigsRequest(
        resources=tuple(
            kind.AlterConfigsResource(
                resource_type=resource_type,
                resource_name=name,
                configs=tuple(
                    kind.AlterableConfig(name=key, value=value) for key, _, value in keys
                ),
            )
            for resource_type, name, keys in resources
        )
    )
    return Step(None, request, kind.AlterConfigsResponse, version)


def change_configs(version: int, *resources: Altered, validate: bool = False) -> Step:
    """Return the IncrementalAlterConfigs step."""
    kind = incremental_alter_configs
    request = kind.IncrementalAlterConfigsRequest(
        resources=tuple(
            kind.AlterConfigsResource(
                resource_type=resource_type,
                resource_name=name,
                configs=tuple(
                    kind.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in keys
                ),
            )
            for resource_type, name, keys in resources
        ),
        validate_only=validate,
    )
    return Step(None, request, kind.IncrementalAlterConfigsResponse, version)
