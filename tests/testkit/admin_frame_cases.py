"""What the differential suite asks about a cluster: its log, resources, groups, features."""

from collections.abc import Iterator
from typing import Any

from doorkeeper_wire.messages import (
    describe_quorum,
    list_config_resources,
    share_group_describe,
    streams_group_describe,
    update_features,
)
from testkit.frame_steps import (
    ALTER,
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

IDEMPOTENT_WRITE = 12

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


def feature_scenarios() -> Iterator[Scenario]:
    """UpdateFeatures that change nothing: only checked, or refused."""
    kind = update_features
    grants = create(creation(**ON_CLUSTER, operation=ALTER))

    def update(version: int, *updates: tuple[str, int, int], only: bool = True) -> Step:
        request = kind.UpdateFeaturesRequest(
            feature_updates=tuple(
                kind.FeatureUpdateKey(
                    feature=name,
                    max_version_level=level,
                    **({"upgrade_type": way} if version else {"allow_downgrade": way > 1}),
                )
                for name, level, way in updates
            ),
            validate_only=only and version > 0,
        )
        return Step(None, request, kind.UpdateFeaturesResponse, version)

    name = "metadata.version"
    for version in range(3):
        steps = [
            update(version),
            update(version, ("nonsense", 1, 1)),
            update(version, ("nonsense", 0, 1)),
            update(version, ("nonsense", -1, 2)),
            update(version, ("", 1, 1)),
            update(version, (name, 99, 1)),
            update(version, (name, 0, 1)),
            update(version, (name, -1, 1)),
            update(version, (name, 1, 1)),
            update(version, (name, 0, 2)),
            update(version, (name, 1, 2)),
            update(version, (name, 99, 1), ("nonsense", 1, 1)),
        ]
        if version:
            steps += [
                update(version, (name, level, way), only=only)
                for level, way in ((30, 0), (30, 4), (99, 0), (0, 3), (1, 3))
                for only in (False, True)
            ]
            steps += [
                update(version, (name, level, way))
                for level in (29, 28, 31, 7, 8, 30)
                for way in (1, 2, 3)
            ]
        yield Scenario(f"UpdateFeatures {version}", (grants, *as_users(*steps)))


ADMIN_SCENARIOS: tuple[Scenario, ...] = (
    *quorum_scenarios(),
    *resource_scenarios(),
    *group_scenarios(),
    *feature_scenarios(),
)
