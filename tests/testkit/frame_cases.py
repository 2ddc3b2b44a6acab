"""What the differential suite sends to both servers: scenarios of single requests.

Every scenario starts without ACLs and without topics. A step names the user who asks (None is the
super user ANONYMOUS on the plain listener), the request, and the version.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from doorkeeper_wire.messages import (
    alter_configs,
    api_versions,
    create_acls,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_topic_partitions,
    find_coordinator,
    incremental_alter_configs,
    list_groups,
    metadata,
)

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(2, 9)
DESCRIBE_CONFIGS, ALTER_CONFIGS = 10, 11
ODD_CODES = (-1, 1, 2, 5, 8, 15, 16, 99)


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
    plain = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    request = describe_acls.DescribeAclsRequest(**{**plain, **changed})
    return Step(user, request, describe_acls.DescribeAclsResponse, version)


def delete_filter(**changed: Any) -> delete_acls.DeleteAclsFilter:
    """Return an open filter with some fields changed."""
    plain = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return delete_acls.DeleteAclsFilter(**{**plain, **changed})


def delete(
    *filters: delete_acls.DeleteAclsFilter, version: int = 3, user: str | None = None
) -> Step:
    """Return the step that deletes what these match."""
    request = delete_acls.DeleteAclsRequest(filters=tuple(filters))
    return Step(user, request, delete_acls.DeleteAclsResponse, version)


def acl_codes() -> Iterator[Scenario]:
    """Every code of every enumerated field, alone and beside a good row."""
    names = ("resource_type", "resource_pattern_type", "operation", "permission_type")
    for name in names:
        steps = []
        for code in (*range(-1, 18), 99):
            bad = creation(**{name: code}, principal=f"User:{name}{code}")
            steps += [create(bad), create(creation(principal=f"User:good{code}"), bad)]
        yield Scenario(f"create, codes of {name}", (*steps, describe()))
    rows = (
        creation(),
        creation(resource_name="*", operation=WRITE, permission_type=DENY),
        creation(resource_name="ord", resource_pattern_type=PREFIXED),
        creation(resource_type=CLUSTER, resource_name="kafka-cluster", operation=ALTER),
    )
    wanted = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    for name in wanted:
        codes = (*range(-1, 18), 99)
        described = tuple(describe(**{name: code}) for code in codes)
        deleted = tuple(
            delete(
                delete_filter(**{name: code}, principal_filter="User:nobody"),
                delete_filter(principal_filter="User:nobody"),
            )
            for code in codes
        )
        yield Scenario(f"filters, codes of {name}", (create(*rows), *described, *deleted))


def acl_rows() -> Iterator[Scenario]:
    """Names, principals and hosts that are odd; versions; duplicates; overlapping deletes."""
    odd = (
        creation(resource_name=""),
        creation(resource_name="a/b c\u00e9\U0001f600"),
        creation(resource_name="x" * 32000),
        creation(resource_name="*", resource_pattern_type=PREFIXED),
        creation(resource_type=CLUSTER, resource_name="*", operation=ALTER),
        creation(resource_type=CLUSTER, resource_name="", operation=ALTER),
        creation(resource_type=CLUSTER, resource_name="kafka-cluster", operation=READ),
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=ALTER,
            resource_pattern_type=PREFIXED,
        ),
        creation(principal=""),
        creation(principal="alice"),
        creation(principal=":"),
        creation(principal="X:"),
        creation(principal=":y"),
        creation(principal="User:a:b"),
        creation(principal="Group:*"),
        creation(host=""),
        creation(host="10.0.0.0/8"),
        creation(host="::1"),
        creation(resource_type=TRANSACTIONAL_ID, resource_name="tx", operation=15),
        creation(resource_type=USER, resource_name="User:bob", operation=13),
        creation(resource_type=DELEGATION_TOKEN, resource_name="t", operation=DESCRIBE),
    )
    yield Scenario("create, odd rows one by one", (*(create(row) for row in odd), describe()))
    yield Scenario("create, odd rows together", (create(*odd), create(*odd), describe()))
    for version in (1, 2, 3):
        yield Scenario(
            f"version {version}",
            (
                create(creation(), creation(), creation(resource_name="b"), version=version),
                describe(version=version),
                create(creation(), version=version),
                delete(
                    delete_filter(resource_name_filter="orders"),
                    delete_filter(principal_filter="User:alice"),
                    delete_filter(resource_type_filter=99),
                    version=version,
                ),
                describe(version=version),
                create(version=version),
                delete(version=version),
            ),
        )


def acl_matching() -> Iterator[Scenario]:
    """The table of section 1.7, whole: every stored pattern against every filter."""
    stored = [
        creation(resource_name=name, resource_pattern_type=pattern, principal=principal)
        for name, pattern in (
            ("foo", LITERAL),
            ("*", LITERAL),
            ("fo", PREFIXED),
            ("foo", PREFIXED),
            ("foobar", PREFIXED),
            ("f", PREFIXED),
            ("*", PREFIXED),
        )
        for principal in ("User:alice", "User:*")
    ]
    stored += [
        creation(resource_type=GROUP, resource_name="foo", operation=ALL),
        creation(resource_name="foo", operation=ALL, host="10.0.0.1", permission_type=DENY),
    ]
    steps = [create(*stored)]
    names = ("foo", "*", "f", "foobarbaz", "", None)
    steps += [
        describe(resource_type_filter=kind, pattern_type_filter=pattern, resource_name_filter=name)
        for pattern, name, kind in product((1, 2, 3, 4), names, (1, TOPIC))
    ]
    steps += [
        describe(principal_filter="User:*"),
        describe(principal_filter="User:bob"),
        describe(host_filter="*"),
        describe(host_filter="10.0.0.1"),
        describe(operation=ALL),
        describe(permission_type=DENY),
        delete(
            delete_filter(pattern_type_filter=2, resource_name_filter="foobar"),
            delete_filter(principal_filter="User:*", resource_name_filter="foo"),
            delete_filter(operation=ALL, resource_type_filter=16),
            delete_filter(permission_type=99),
        ),
        describe(),
    ]
    yield Scenario("matching", tuple(steps))


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


def metadata_scenarios() -> Iterator[Scenario]:
    """Metadata of every version: all, none, known, unknown and illegal names, masks, ids."""
    grants = create(
        creation(resource_name="t-one", operation=READ),
        creation(resource_name="t-", operation=DELETE, resource_pattern_type=PREFIXED),
        creation(resource_name="t-two", operation=DESCRIBE, permission_type=DENY),
        creation(resource_name="t-", operation=ALTER_CONFIGS, resource_pattern_type=PREFIXED),
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=ALTER,
            principal="User:bob",
        ),
        creation(resource_name="absent", operation=DESCRIBE),
    )
    names = named("t-one", "t-two", "absent", "t-one", "secret", "bad name!", "")
    for version in range(14):
        flags = {"include_topic_authorized_operations": True} if version >= 8 else {}
        if 8 <= version <= 10:
            flags["include_cluster_authorized_operations"] = True
        steps = [ask_metadata(version, names), ask_metadata(version, ())]
        if version >= 1:
            steps.append(ask_metadata(version, None))
        if flags:
            steps += [ask_metadata(version, names, **flags), ask_metadata(version, None, **flags)]
        if version >= 10:
            unknown = metadata.MetadataRequestTopic(topic_id=b"\1" * 16, name=None)
            both = metadata.MetadataRequestTopic(topic_id=b"\1" * 16, name="t-one")
            null = metadata.MetadataRequestTopic(name=None)
            for topic in (unknown, both, null):
                steps += [ask_metadata(version, (topic,)), ask_metadata(version, (topic, *names))]
        yield Scenario(
            f"Metadata {version}", (grants, *as_users(*steps)), ("t-one", "t-two", "secret")
        )


def group_scenarios() -> Iterator[Scenario]:
    """Groups that nobody made: refusals, Dead, masks; coordinators; lists."""
    grants = create(
        creation(resource_type=GROUP, resource_name="g-one", operation=READ),
        creation(
            resource_type=GROUP,
            resource_name="g-",
            resource_pattern_type=PREFIXED,
            operation=DELETE,
            principal="User:bob",
        ),
        creation(resource_type=TRANSACTIONAL_ID, resource_name="tx", operation=DESCRIBE),
    )
    for version in range(7):
        request = describe_groups.DescribeGroupsRequest(
            groups=("g-one", "g-two", "", "g-one"),
            include_authorized_operations=version >= 3,
        )
        empty = describe_groups.DescribeGroupsRequest(groups=())
        response = describe_groups.DescribeGroupsResponse
        steps = [Step(None, each, response, version) for each in (request, empty)]
        yield Scenario(f"DescribeGroups {version}", (grants, *as_users(*steps)), groups=True)
    for version in range(6):
        steps = [
            Step(None, list_groups.ListGroupsRequest(), list_groups.ListGroupsResponse, version)
        ]
        if version >= 4:
            odd = list_groups.ListGroupsRequest(states_filter=("Stable", "nonsense"))
            steps.append(Step(None, odd, list_groups.ListGroupsResponse, version))
        if version >= 5:
            odd = list_groups.ListGroupsRequest(types_filter=("classic", "nonsense"))
            steps.append(Step(None, odd, list_groups.ListGroupsResponse, version))
        yield Scenario(f"ListGroups {version}", (grants, *as_users(*steps)), groups=True)


def coordinator_scenarios() -> Iterator[Scenario]:
    """FindCoordinator: refused keys, odd types (a granted one is not asked: see compatibility)."""
    response = find_coordinator.FindCoordinatorResponse
    for version in range(7):
        steps = []
        for kind in (0, 1, 2, 3, -1) if version >= 1 else (0,):
            if version >= 4:
                request = find_coordinator.FindCoordinatorRequest(
                    key_type=kind, coordinator_keys=("g-one", "", "tx")
                )
            else:
                request = find_coordinator.FindCoordinatorRequest(key_type=kind, key="g-one")
            steps.append(Step("alice", request, response, version))
        yield Scenario(f"FindCoordinator {version}", tuple(steps))


def cluster_scenarios() -> Iterator[Scenario]:
    """DescribeCluster: endpoint types, masks."""
    grants = create(
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=ALTER,
            principal="User:bob",
        ),
    )
    response = describe_cluster.DescribeClusterResponse
    for version in range(3):
        steps = []
        for kind, operations in product((1, 2, 3, 0) if version else (1,), (False, True)):
            request = describe_cluster.DescribeClusterRequest(
                include_cluster_authorized_operations=operations, endpoint_type=kind
            )
            steps.append(Step(None, request, response, version))
        yield Scenario(f"DescribeCluster {version}", (grants, *as_users(*steps)))


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


def good_and_bad_topics() -> tuple[create_topics.CreatableTopic, ...]:
    """Return topics of all kinds, of which a broker makes the first two and ``a-twice`` not."""
    config = create_topics.CreatableTopicConfig
    compact = (config(name="cleanup.policy", value="compact"),)
    return (
        new_topic("a-good"),
        new_topic("b-good", num_partitions=3, configs=compact),
        new_topic("a-none", num_partitions=0),
        new_topic("a-minus", num_partitions=-2),
        new_topic("a-many", replication_factor=3),
        new_topic("a-zero", replication_factor=0),
        new_topic("bad name"),
        new_topic(""),
        new_topic("."),
        new_topic("x" * 250),
        new_topic("a-twice"),
        new_topic("a-twice"),
        new_topic("a-conf", configs=(config(name="no.such.key", value="1"),)),
        new_topic("a-confv", configs=(config(name="retention.ms", value="soon"),)),
        new_topic("a-confnull", configs=(config(name="retention.ms", value=None),)),
        new_topic("c-refused"),
    )


def assigned_topics() -> tuple[create_topics.CreatableTopic, ...]:
    """Return topics whose replicas are assigned by hand, well and badly."""

    def assigned(name: str, *replicas: tuple[int, tuple[int, ...]]) -> create_topics.CreatableTopic:
        assignments = tuple(
            create_topics.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in replicas
        )
        return new_topic(name, num_partitions=-1, replication_factor=-1, assignments=assignments)

    return (
        assigned("b-assigned", (0, (1,)), (1, (1,))),
        assigned("b-both", (0, (1,))).replace(num_partitions=1, replication_factor=1),
        assigned("b-hole", (1, (1,))),
        assigned("b-twice", (0, (1, 1))),
        assigned("b-unknown", (0, (7,))),
    )


def remove_topics(version: int) -> Step:
    """Return the DeleteTopics step: known, unknown, repeated and refused ones, and an id."""
    names = ("a-good", "b-good", "absent", "a-good", "", "c-refused")
    request = delete_topics.DeleteTopicsRequest(topic_names=names, timeout_ms=10000)
    if version >= 6:
        states = [delete_topics.DeleteTopicState(name=name) for name in names]
        states.append(delete_topics.DeleteTopicState(name=None, topic_id=b"\2" * 16))
        request = delete_topics.DeleteTopicsRequest(topics=tuple(states), timeout_ms=10000)
    return Step(None, request, delete_topics.DeleteTopicsResponse, min(version, 6))


def topic_scenarios() -> Iterator[Scenario]:
    """CreateTopics and DeleteTopics: good, bad, refused, by name and by id."""
    of_a = {"resource_name": "a-", "resource_pattern_type": PREFIXED}
    grants = create(
        creation(**of_a, operation=CREATE),
        creation(**of_a, operation=DELETE, principal="User:bob"),
        creation(resource_name="b-", resource_pattern_type=PREFIXED, operation=ALL),
    )
    defaults = (new_topic("b-default", num_partitions=-1, replication_factor=-1),)
    for version in range(2, 8):
        steps = (
            make_topics(*good_and_bad_topics(), version=version, validate=True),
            make_topics(*good_and_bad_topics(), version=version),
            make_topics(*assigned_topics(), version=version),
            make_topics(*(defaults if version >= 4 else ()), version=version),
            make_topics(version=version),
            remove_topics(version),
            ask_metadata(9, None),
        )
        yield Scenario(f"topics {version}", (grants, *as_users(*steps)))


def partition_scenarios() -> Iterator[Scenario]:
    """DescribeTopicPartitions: all, named, unknown, refused, pages, cursors."""
    kind = describe_topic_partitions
    grants = create(
        creation(resource_name="t-one", operation=READ),
        creation(resource_name="absent", operation=DESCRIBE),
    )

    def ask(*names: str, limit: int = 2000, cursor: Any = None) -> Step:
        request = kind.DescribeTopicPartitionsRequest(
            topics=tuple(kind.TopicRequest(name=name) for name in names),
            response_partition_limit=limit,
            cursor=cursor,
        )
        return Step(None, request, kind.DescribeTopicPartitionsResponse, 0)

    steps = (
        ask(),
        ask("t-two", "t-one", "absent", "t-one", "bad name!", ""),
        ask(limit=1),
        ask(limit=0),
        ask(limit=-5),
        ask(
            "t-one",
            "t-two",
            limit=1,
            cursor=kind.Cursor(topic_name="t-one", partition_index=0),
        ),
        ask("t-one", "t-two", cursor=kind.Cursor(topic_name="t-two", partition_index=0)),
        ask("t-one", cursor=kind.Cursor(topic_name="t-two", partition_index=0)),
        ask("t-one", cursor=kind.Cursor(topic_name="t-one", partition_index=-1)),
        ask("t-one", cursor=kind.Cursor(topic_name="t-one", partition_index=9)),
    )
    yield Scenario("DescribeTopicPartitions", (grants, *as_users(*steps)), ("t-one", "t-two"))


def ask_configs(version: int, resource_type: int, name: str, keys: Any, **flags: Any) -> Step:
    """Return the DescribeConfigs step for one resource."""
    kind = describe_configs
    resource = kind.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    request = kind.DescribeConfigsRequest(resources=(resource,), **flags)
    return Step(None, request, kind.DescribeConfigsResponse, version)


def config_scenarios() -> Iterator[Scenario]:
    """DescribeConfigs of topics and of things that are not there."""
    grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
    for version in range(1, 5):
        flags = {"include_synonyms": True} if version < 3 else {"include_documentation": False}

        few = ("cleanup.policy", "min.insync.replicas", "retention.ms", "no.such.key")
        steps = [
            ask_configs(version, 2, "t-one", few, **flags),
            ask_configs(version, 2, "absent", few),
            ask_configs(version, 2, "bad name!", few),
            ask_configs(version, 2, "", few),
            ask_configs(version, 2, "t-one", ()),
            ask_configs(version, 4, "1", ("no.such.key",)),
            ask_configs(version, 4, "7", few),
            ask_configs(version, 4, "x", few),
            ask_configs(version, 1, "t-one", few),
            ask_configs(version, 99, "t-one", few),
        ]
        told: dict[str, Any] = {"include_synonyms": True, "include_documentation": version >= 3}
        everything = ((2, "t-one"), (4, "1"), (4, ""), (8, "1"), (16, "none"), (32, "g-one"))
        steps += [ask_configs(version, kind, name, None, **told) for kind, name in everything]
        yield Scenario(f"DescribeConfigs {version}", (grants, *as_users(*steps)), ("t-one",))


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


def one_by_one(resource_type: int, name: str, version: int) -> Iterator[Step]:
    """Yield changes of one key each: every operation, good and bad values, odd names."""
    keys: dict[int, tuple[tuple[str, int, str | None], ...]] = {
        4: (
            ("max.connections.per.ip", 0, "5000"),
            ("max.connections.per.ip", 0, "x"),
            ("max.connections.per.ip", 0, "-5"),
            ("max.connections.per.ip", 0, ""),
            ("max.connections.per.ip", 0, None),
            ("max.connections.per.ip", 2, "1"),
            ("max.connections.per.ip", 3, "1"),
            ("max.connections.per.ip", 7, "1"),
            ("max.connections.per.ip", 1, None),
            ("node.id", 0, "7"),
            ("node.id", 1, None),
            ("connections.max.idle.ms", 0, "5000"),
            ("connections.max.reauth.ms", 0, "5000"),
            ("plugin.key", 0, "x"),
            ("plugin.key", 2, "x"),
            ("plugin.key", 1, None),
            ("log.cleaner.threads", 0, "x"),
            ("log.cleanup.policy", 0, "nonsense"),
            ("ssl.keystore.location", 0, "x"),
        ),
        2: (
            ("retention.ms", 0, "1000"),
            ("retention.ms", 0, "x"),
            ("retention.ms", 0, "-5"),
            ("retention.ms", 0, None),
            ("retention.ms", 2, "5"),
            ("retention.ms", 9, "5"),
            ("nope", 0, "1"),
            ("nope", 1, None),
            ("cleanup.policy", 2, "compact"),
            ("cleanup.policy", 3, "delete"),
            ("cleanup.policy", 2, "x"),
            ("min.insync.replicas", 0, "2"),
        ),
    }
    for key in keys[resource_type]:
        yield change_configs(version, (resource_type, name, (key,)))


def alteration_scenarios() -> Iterator[Scenario]:
    """IncrementalAlterConfigs of a broker, of the cluster and of topics, and who may not."""
    good = ("max.connections.per.ip", 0, "5000")
    kept = ("retention.ms", 0, "1000")
    for version in (0, 1):
        steps = (
            *one_by_one(4, "1", version),
            change_configs(version, (4, "7", (good,)), (4, "x", (good,)), (99, "x", (good,))),
            change_configs(version, (4, "1", (good, good)), (2, "t-one", (kept, kept))),
            change_configs(version, (2, "t-one", (kept,)), (2, "t-one", (kept,))),
            change_configs(version, (4, "1", (good,)), (4, "", (good,)), validate=True),
            change_configs(version, (4, "1", (("min.insync.replicas", 0, "2"),))),
            change_configs(version, (4, "", (("min.insync.replicas", 1, None),))),
            change_configs(version),
        )
        yield Scenario(f"broker's keys {version}", as_users(*steps))
        yield Scenario(f"the cluster's keys {version}", as_users(*one_by_one(4, "", version)))
        steps = (
            *one_by_one(2, "t-one", version),
            change_configs(version, (2, "absent", (kept,)), (2, "", (kept,)), (2, "bad!", (kept,))),
            change_configs(version, (2, "t-one", (kept,)), validate=True),
        )
        grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
        yield Scenario(f"topics' keys {version}", (grants, *as_users(*steps)), ("t-one",))


def replacement_scenarios() -> Iterator[Scenario]:
    """AlterConfigs: what is not named goes."""
    good: tuple[str, int, str | None] = ("max.connections.per.ip", 0, "5000")
    kept: tuple[str, int, str | None] = ("retention.ms", 0, "1000")
    for version in range(3):
        steps = (
            replace_configs(version, (4, "1", (good,)), (2, "t-one", (kept,))),
            replace_configs(version, (4, "1", (("node.id", 0, "7"),)), (99, "x", (good,))),
            replace_configs(version, (4, "7", (good,)), (4, "x", (good,)), (2, "absent", (kept,))),
            replace_configs(version, (2, "t-one", (("nope", 0, "1"),))),
            replace_configs(version, (2, "t-one", (("retention.ms", 0, None),))),
            replace_configs(version, (4, "1", (good, good))),
            replace_configs(version, (4, "1", ()), (2, "t-one", ())),
        )
        grants = create(creation(resource_name="t-one", operation=ALTER_CONFIGS))
        yield Scenario(f"replaced keys {version}", (grants, *as_users(*steps)), ("t-one",))


def refusals() -> Iterator[Scenario]:
    """What somebody without any right is told, by every API and version."""
    steps = [
        *(describe(version=v, user="alice") for v in (1, 2, 3)),
        *(
            create(creation(), creation(resource_name=""), version=v, user="alice")
            for v in (1, 2, 3)
        ),
        *(
            delete(delete_filter(), delete_filter(operation=99), version=v, user="alice")
            for v in (1, 2, 3)
        ),
        create(user="alice"),
        delete(user="alice"),
        create(creation(operation=0), user="alice"),
        create(creation(operation=1), user="alice"),
    ]
    yield Scenario("nobody", tuple(steps))


def version_scenarios() -> Iterator[Scenario]:
    """ApiVersions: good and bad software names; the lists differ, so only their heads count."""
    kind = api_versions
    for version in range(5):
        steps = []
        for name, release in (("frames", "1.0"), ("", ""), ("a b", "1"), ("-a", "1"), ("a", "1-")):
            request = kind.ApiVersionsRequest(
                client_software_name=name, client_software_version=release
            )
            steps.append(Step(None, request, kind.ApiVersionsResponse, version))
        yield Scenario(f"ApiVersions {version}", tuple(steps[: 5 if version >= 3 else 1]))


SCENARIOS: tuple[Scenario, ...] = (
    *acl_codes(),
    *acl_rows(),
    *acl_matching(),
    *metadata_scenarios(),
    *coordinator_scenarios(),
    *cluster_scenarios(),
    *topic_scenarios(),
    *partition_scenarios(),
    *config_scenarios(),
    *alteration_scenarios(),
    *replacement_scenarios(),
    *refusals(),
    *version_scenarios(),
    *group_scenarios(),
)
