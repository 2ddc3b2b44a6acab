"""What the differential suite asks about the cluster itself: quorum, resources, newer groups."""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import (
    consumer_group_describe,
    describe_quorum,
    list_config_resources,
    share_group_describe,
    streams_group_describe,
)
from testkit.frame_steps import (
    CLUSTER,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    Scenario,
    Step,
    as_users,
    create,
    creation,
)

ON_CLUSTER: dict[str, Any] = {"resource_type": CLUSTER, "resource_name": "kafka-cluster"}


def quorum_scenarios() -> Iterator[Scenario]:
    """DescribeQuorum: the log, other partitions, none, several."""
    kind = describe_quorum
    grants = create(creation(**ON_CLUSTER, operation=DESCRIBE))

    def ask(version: int, *topics: tuple[str, tuple[int, ...]]) -> Step:
        request = kind.DescribeQuorumRequest(
            topics=tuple(
                kind.TopicRequest(
                    topic_name=name,
                    partitions=tuple(kind.PartitionRequest(partition_index=i) for i in indexes),
                )
                for name, indexes in topics
            )
        )
        return Step(None, request, kind.DescribeQuorumResponse, version)

    log = "__cluster_metadata"
    for version in range(3):
        steps = (
            ask(version, (log, (0,))),
            ask(version, (log, (1,))),
            ask(version, (log, (0, 1))),
            ask(version, (log, (0,)), ("orders", (0,))),
            ask(version, (log, (0,)), ("orders", ())),
            ask(version, (log, ())),
            ask(version, ("", (-1,))),
            ask(version),
        )
        yield Scenario(f"DescribeQuorum {version}", (grants, *as_users(*steps)))


def resource_scenarios() -> Iterator[Scenario]:
    """ListConfigResources: each type, several, unknown ones, all."""
    kind = list_config_resources
    grants = create(creation(**ON_CLUSTER, operation=DESCRIBE_CONFIGS))
    asked = [(), *((each,) for each in (0, 1, 2, 3, 4, 8, 16, 32, 64, -1)), (4, 2), (2, 2), (2, 7)]
    for version in range(2):
        steps = as_users(
            *(
                Step(
                    None,
                    kind.ListConfigResourcesRequest(resource_types=types),
                    kind.ListConfigResourcesResponse,
                    version,
                )
                for types in (asked if version else asked[:1])
            )
        )
        yield Scenario(f"ListConfigResources {version}", (grants, *steps), ("t-one", "t-two"))


GROUP_NAMES = (
    ("g-one", "g-two"),
    ("g-two",),
    (),
    ("",),
    ("g-one", "g-one"),
    ("", "g-two", "g-one"),
)


def group_scenarios() -> Iterator[Scenario]:
    """Groups of each newer type that are not there, with and without masks."""
    grants = create(
        creation(resource_type=GROUP, resource_name="g-one", operation=DESCRIBE),
        creation(
            resource_type=GROUP, resource_name="g-two", operation=DESCRIBE, principal="User:bob"
        ),
    )
    kinds: tuple[tuple[Any, Any, tuple[int, ...]], ...] = (
        (
            consumer_group_describe.ConsumerGroupDescribeRequest,
            consumer_group_describe.ConsumerGroupDescribeResponse,
            (0, 1),
        ),
        (
            share_group_describe.ShareGroupDescribeRequest,
            share_group_describe.ShareGroupDescribeResponse,
            (1,),
        ),
        (
            streams_group_describe.StreamsGroupDescribeRequest,
            streams_group_describe.StreamsGroupDescribeResponse,
            (0,),
        ),
    )
    for request, response, versions in kinds:
        for version in versions:
            steps = as_users(
                *(
                    Step(
                        None,
                        request(group_ids=names, include_authorized_operations=mask),
                        response,
                        version,
                    )
                    for names in GROUP_NAMES
                    for mask in (False, True)
                )
            )
            name = request.__name__.removesuffix("Request")
            yield Scenario(f"{name} {version}", (grants, *steps), groups=True)


ADMIN_SCENARIOS: tuple[Scenario, ...] = (
    *quorum_scenarios(),
    *resource_scenarios(),
    *group_scenarios(),
)
