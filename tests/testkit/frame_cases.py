"""What the differential suite sends to both servers: scenarios of single requests.

Every scenario starts without ACLs and without topics. Those of ACLs and of configurations stand in
modules of their own.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from doorkeeper_wire.messages import (
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_groups,
    describe_topic_partitions,
    find_coordinator,
    list_groups,
    metadata,
)
from testkit.acl_frame_cases import acl_codes, acl_matching, acl_rows, refusals
from testkit.config_frame_cases import (
    alteration_scenarios,
    config_scenarios,
    replacement_scenarios,
    resource_config_scenarios,
)
from testkit.frame_steps import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    GROUP,
    PREFIXED,
    READ,
    TRANSACTIONAL_ID,
    Scenario,
    Step,
    as_users,
    ask_metadata,
    create,
    creation,
    make_topics,
    named,
    new_topic,
)


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
            # The reason, which quotes the name, fits into no response.
            make_topics(new_topic("x" * 32_767), new_topic("b-other"), version=version),
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


def increased(version: int, *rows: tuple[str, int, Any], **fields: Any) -> Step:
    """Return the CreatePartitions step: name, count, and the brokers of each new partition."""
    kind = create_partitions
    topics = tuple(
        kind.CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None
            if assignments is None
            else tuple(kind.CreatePartitionsAssignment(broker_ids=each) for each in assignments),
        )
        for name, count, assignments in rows
    )
    request = kind.CreatePartitionsRequest(**{"topics": topics, "timeout_ms": 10000, **fields})
    return Step(None, request, kind.CreatePartitionsResponse, version)


def increase_scenarios() -> Iterator[Scenario]:
    """CreatePartitions: more, fewer, as many, brokers well and badly chosen, refused, doubled."""
    grants = create(
        creation(resource_name="t-one", operation=ALTER),
        creation(resource_name="absent", operation=ALTER),
        creation(resource_name="t-two", operation=ALL, principal="User:bob"),
    )
    for version in range(4):
        steps = (
            increased(version, ("t-one", 4, None), validate_only=True),
            increased(version, ("t-one", 3, None), ("absent", 3, None), ("t-two", 3, None)),
            increased(version, ("t-one", 3, None), ("t-two", 1, None)),
            increased(version, ("t-one", -1, None), ("t-two", 0, ())),
            increased(version, ("t-one", 9, ((1,),)), ("t-two", 4, ((7,),))),
            increased(version, ("t-one", 9, ()), ("t-two", 4, ((),))),
            increased(version, ("t-one", 4, ((1, 1),)), ("t-two", 4, ((1,),))),
            increased(version, ("t-one", 8, None), ("t-one", 8, None), ("t-two", 5, None)),
            increased(version, ("t-one", 8, None), timeout_ms=0),
            increased(version),
            ask_metadata(9, named("t-one", "t-two")),
        )
        yield Scenario(
            f"CreatePartitions {version}", (grants, *as_users(*steps)), ("t-one", "t-two")
        )


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
    *increase_scenarios(),
    *config_scenarios(),
    *alteration_scenarios(),
    *replacement_scenarios(),
    *resource_config_scenarios(),
    *refusals(),
    *version_scenarios(),
    *group_scenarios(),
)
