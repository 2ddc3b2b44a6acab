"""Scenarios of a cluster: its log, resources, newer groups, features."""

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
    step,
)

ON_CLUSTER: dict[str, Any] = {"resource_type": CLUSTER, "resource_name": "kafka-cluster"}


def quorum_scenarios() -> Iterator[Scenario]:
    """DescribeQuorum: the log, other partitions, none, several."""
    kind, log = describe_quorum, "__cluster_metadata"
    grants = create(creation(**ON_CLUSTER, operation=DESCRIBE))

    def ask(version: int, *rows: tuple[str, tuple[int, ...]]) -> Step:
        topics = tuple(
            kind.TopicRequest(
                topic_name=name,
                partitions=tuple(kind.PartitionRequest(partition_index=i) for i in indexes),
            )
            for name, indexes in rows
        )
        return step(kind, version, topics=topics)

    for version in (0, 2):
        steps = (
            ask(version, (log, (0,))),
            ask(version, (log, (1,))),
            ask(version, (log, (0, 1))),
            ask(version, (log, (0,)), ("orders", (0,))),
            ask(version, (log, ())),
            ask(version, ("", (-1,))),
            ask(version),
        )
        yield Scenario(f"DescribeQuorum {version}", (grants, *as_users(*steps)))


def resource_scenarios() -> Iterator[Scenario]:
    """ListConfigResources: each type, several, unknown ones, all."""
    grants = create(creation(**ON_CLUSTER, operation=DESCRIBE_CONFIGS))
    asked = [(), *((each,) for each in (0, 1, 2, 3, 4, 8, 16, 32, 64, -1)), (4, 2), (2, 2), (2, 7)]
    for version in range(2):
        types = asked if version else asked[:1]
        steps = [step(list_config_resources, version, resource_types=each) for each in types]
        yield Scenario(
            f"ListConfigResources {version}", (grants, *as_users(*steps)), ("t-one", "t-two")
        )


def group_scenarios() -> Iterator[Scenario]:
    """Groups of share and streams that are not there, with and without masks."""
    grants = create(
        creation(resource_type=GROUP, resource_name="g-one", operation=DESCRIBE),
        creation(
            resource_type=GROUP, resource_name="g-two", operation=DESCRIBE, principal="User:bob"
        ),
    )
    groups = (("g-one", "g-two"), (), ("",), ("g-one", "g-one"), ("", "g-two", "g-one"))
    for kind, version in ((share_group_describe, 1), (streams_group_describe, 0)):
        steps = [
            step(kind, version, group_ids=names, include_authorized_operations=mask)
            for names in groups
            for mask in (False, True)
        ]
        yield Scenario(kind.__name__, (grants, *as_users(*steps)), groups=True)


def feature_scenarios() -> Iterator[Scenario]:
    """UpdateFeatures that change nothing: only checked, or refused."""
    kind, name = update_features, "metadata.version"
    grants = create(creation(**ON_CLUSTER, operation=ALTER))

    def update(version: int, *updates: tuple[str, int, int], only: bool = True) -> Step:
        rows = tuple(
            kind.FeatureUpdateKey(
                feature=feature,
                max_version_level=level,
                **({"upgrade_type": way} if version else {"allow_downgrade": way > 1}),
            )
            for feature, level, way in updates
        )
        return step(kind, version, feature_updates=rows, validate_only=only and version > 0)

    alone = (
        *(("nonsense", 1, 1), ("nonsense", 0, 1), ("nonsense", -1, 2), ("", 1, 1)),
        *((name, 99, 1), (name, 0, 1), (name, -1, 1), (name, 1, 1), (name, 0, 2), (name, 1, 2)),
    )
    for version in range(3):
        steps = [update(version), update(version, (name, 99, 1), ("nonsense", 1, 1))]
        steps += [update(version, each) for each in alone]
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
