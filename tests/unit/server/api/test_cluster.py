"""DescribeCluster, UnregisterBroker, DescribeQuorum and UpdateFeatures."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import (
    describe_cluster,
    describe_quorum,
    unregister_broker,
    update_features,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.cluster import Broker, Member
from doorkeeper.server.schema.features import release_change
from doorkeeper.server.state.state import EMPTY, apply_at_once
from doorkeeper_wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest
from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    Listener,
    PartitionRequest,
    TopicRequest,
)
from doorkeeper_wire.messages.unregister_broker import UnregisterBrokerRequest
from doorkeeper_wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from testkit.acl import DESCRIBE, allow
from testkit.nodes import (
    CLUSTER,
    CLUSTER_ID,
    ANode,
    answer,
    brokers_of,
    node_of,
    on_the_wire,
    outcome,
)

UNASKED = -(2**31)


async def test_describe_cluster_requires_no_permission() -> None:
    node = await node_of()

    answered = answer(describe_cluster.API, DescribeClusterRequest(), node, 2, user="nobody")

    assert (answered.error_code, answered.error_message) == (0, None)
    assert (answered.cluster_id, answered.controller_id) == (CLUSTER_ID, 1)
    assert answered.endpoint_type == 1
    assert answered.brokers == (
        DescribeClusterBroker(broker_id=1, host="broker.example", port=9092, rack="rack-a"),
    )
    assert answered.cluster_authorized_operations == UNASKED
    assert node.lines() == []


@pytest.mark.parametrize(
    ("user", "mask", "level"), [("admin", 8096, "DEBUG"), ("alice", 1 << 8, "DEBUG"),
                                ("nobody", 0, "INFO")]
)  # fmt: skip
async def test_authorized_operations_require_describe(user: str, mask: int, level: str) -> None:
    """0 for a caller that may not describe the cluster; that denial is audited."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE, CLUSTER))
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    assert (
        answer(describe_cluster.API, request, node, 0, user=user).cluster_authorized_operations
        == mask
    )
    assert node.lines()[0].startswith(f"{level} ")


@pytest.mark.parametrize(
    ("wanted", "own", "code", "text"),
    [
        (2, "BROKER", 114, "wanted an endpoint of type CONTROLLER"),
        (1, "CONTROLLER", 114, "wanted an endpoint of type BROKER"),
        (0, "BROKER", 115, "Unsupported endpoint type 0"),
        (-1, "CONTROLLER", 115, "Unsupported endpoint type -1"),
    ],
)
async def test_other_endpoint_types_are_rejected(
    wanted: int, own: str, code: int, text: str
) -> None:
    node = await node_of()
    request = DescribeClusterRequest(endpoint_type=wanted)
    if code == 114:
        text = f"The request was sent to an endpoint of type {own}, but we {text}"

    refused = answer(describe_cluster.API, request, node, 2, controller=own == "CONTROLLER")

    assert (refused.error_code, refused.error_message) == (code, text)
    assert (refused.cluster_id, refused.brokers) == ("", ())


async def test_controller_listener_requires_alter() -> None:
    """31 for the whole request, before the endpoint type is looked at."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE, CLUSTER))
    request = DescribeClusterRequest(endpoint_type=9)

    refused = answer(describe_cluster.API, request, node, 2, user="alice", controller=True)

    assert refused.error_code == 31
    assert refused.error_message == "Request Request(described) needs ALTER permission."


@pytest.mark.parametrize(
    ("version", "wanted", "nodes"),
    [(1, False, [(1, False)]), (2, False, [(1, False)]), (2, True, [(1, False), (2, True)])],
)
async def test_fenced_nodes_are_listed_on_request(
    version: int, wanted: object, nodes: list[tuple[int, bool]]
) -> None:
    """From version 2 on."""
    node = await node_of()
    node.listed = brokers_of(1, fenced=[2])
    request = DescribeClusterRequest(include_fenced_brokers=bool(wanted))

    answered = answer(describe_cluster.API, request, node, version)

    assert [(each.broker_id, each.is_fenced) for each in answered.brokers] == nodes
    assert answered.controller_id == 1


REQUEST = UnregisterBrokerRequest(broker_id=7)


class Removals:
    """Services that keep the ids of the nodes to remove."""

    def __init__(self) -> None:
        self.removed: list[int] = []

    async def unregister_broker(self, node_id: int) -> None:
        self.removed.append(node_id)


@pytest.mark.parametrize("controller", [False, True])
async def test_unregister_broker(controller: object) -> None:
    """With ALTER on the cluster, on listeners of both kinds."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    services: Any = Removals()

    made = outcome(
        unregister_broker.API, REQUEST, node, 0, user="alice", controller=bool(controller)
    )

    assert isinstance(made, Update)
    result = await made.apply(services)
    assert services.removed == [7]
    answered: Any = on_the_wire(made.respond(result), 0)
    assert (answered.error_code, answered.error_message) == (0, None)


WITH_CONTROLLERS = """
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def asked(*topics: tuple[str, tuple[int, ...]]) -> DescribeQuorumRequest:
    """Return a request for these partitions."""
    return DescribeQuorumRequest(
        topics=tuple(
            TopicRequest(
                topic_name=name,
                partitions=tuple(PartitionRequest(partition_index=index) for index in indexes),
            )
            for name, indexes in topics
        )
    )


LOG = asked(("__cluster_metadata", (0,)))


@pytest.mark.parametrize("version", [0, 2])
async def test_quorum_leader_is_the_controller(version: int) -> None:
    """The log ends after the newest revision; the leader fetched now, with listeners from v2."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), properties=WITH_CONTROLLERS)
    node.state = replace(node.state, revision=17)

    response = answer(describe_quorum.API, LOG, node, version, user="alice")

    [row] = response.topics[0].partitions
    [voter] = row.current_voters
    assert (row.leader_id, row.high_watermark, row.observers) == (1, 18, ())
    assert (voter.replica_id, voter.log_end_offset) == (1, 18)
    assert voter.last_caught_up_timestamp == (node.now_ms() if version else -1)
    listeners = [each.listeners for each in response.nodes]
    expected = [(Listener(name="CONTROLLER", host="broker.example", port=9093),)]
    assert listeners == (expected if version >= 2 else [])


async def test_quorum_observers_are_other_nodes() -> None:
    """This node knows its own offset; that of a third is -1."""
    node = await node_of(secured=False, properties=WITH_CONTROLLERS)
    node.state = replace(
        node.state, revision=17, members=tuple(Member(each, {}, None, "") for each in (2, 3, 5))
    )
    node.node_id, node.controller_id = 3, 2
    node.controllers = (Broker(2, "two.example", 1), Broker(3, "three.example", 2))

    response = answer(describe_quorum.API, LOG, node, 2)

    [row] = response.topics[0].partitions
    assert [each.replica_id for each in row.current_voters] == [2]
    assert [(each.replica_id, each.log_end_offset) for each in row.observers] == [(3, 18), (5, -1)]
    assert [each.host for each in response.nodes[0].listeners] == ["two.example"]


@pytest.mark.parametrize(
    "request_",
    [
        asked(("__cluster_metadata", (1,))),
        asked(("__cluster_metadata", (0, 1))),
        asked(("t", (0,)), ("__cluster_metadata", (0,))),
        asked(("__cluster_metadata", (0,)), ("t", ())),
    ],
)
async def test_quorum_of_other_partitions_is_unknown(request_: DescribeQuorumRequest) -> None:
    """Each with 3, the log too where it is not asked for alone."""
    node = await node_of(secured=False)

    response = answer(describe_quorum.API, request_, node, 2)

    rows = [row for topic in response.topics for row in topic.partitions]
    assert {row.error_code for row in rows} == {3}
    assert {row.error_message for row in rows} == {
        "This server does not host this topic-partition."
    }
    assert [(each.topic_name, len(each.partitions)) for each in response.topics] == [
        (each.topic_name, len(each.partitions)) for each in request_.topics
    ]


UPGRADE, SAFE, UNSAFE = 1, 2, 3
FAILED = "The update failed for all features since the following feature had an error: "


async def follower(release: str) -> ANode:
    """Return a node of a cluster that follows a release; alice may alter the cluster."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    node.state = apply_at_once(EMPTY, release_change(release))
    return node


def update(level: int, kind: int = UPGRADE, name: str = "metadata.version") -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)


@pytest.mark.parametrize(("release", "level"), [("4.3", 30), ("4.4", 33)])
@pytest.mark.parametrize("kind", [UPGRADE, SAFE, UNSAFE])
async def test_update_to_the_current_feature_level(release: str, level: int, kind: int) -> None:
    """With a row in version 1, without one in version 2; a check and an update alike."""
    node = await follower(release)
    for only in (False, True):
        request = UpdateFeaturesRequest(feature_updates=(update(level, kind),), validate_only=only)

        older = answer(update_features.API, request, node, 1, user="alice")
        newer = answer(update_features.API, request, node, 2, user="alice")

        [row] = older.results
        assert (row.feature, row.error_code, row.error_message) == ("metadata.version", 0, "NONE")
        assert (newer.error_code, newer.error_message, newer.results) == (0, None, ())


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (update(30, 0), ("Invalid update version 30 for feature metadata.version."
         " The controller does not support the given upgrade type.")),
                        (update(-1), ("Invalid update version -1 for feature metadata.version."
         " A feature version cannot be less than 0.")),
        (update(0, name="odd"), "Invalid update version 0 for feature odd. Feature odd not found."),
        (update(33), ("Invalid update version 33 for feature metadata.version."
         " Local controller 1 only supports versions 7-30")),
        (update(29), ("Invalid update version 29 for feature metadata.version. Can't downgrade the"
         " version of this feature without setting the upgrade type to either safe or unsafe"
         " downgrade.")),
        (update(7, SAFE), ("Unsupported metadata.version downgrade from 30 to 7. Refusing to"
         " perform the requested downgrade because it might delete metadata information.")),
        (update(29, UNSAFE), ("Unsupported metadata.version downgrade from 30 to 29."
         " Unsafe metadata downgrade is not supported in this version.")),
        (update(1, name="group.version"), ("Invalid update version 1 for feature group.version."
         " Local controller 1 does not support this feature.")),
            ],
)  # fmt: skip
async def test_update_to_other_feature_levels(wanted: FeatureUpdateKey, text: str) -> None:
    """With 95 for the whole request, and a broker's text."""
    node = await follower("4.3")
    request = UpdateFeaturesRequest(feature_updates=(update(30), wanted))

    for version in (1, 2):
        response = answer(update_features.API, request, node, version, user="alice")

        assert (response.error_code, response.results) == (95, ())
        assert response.error_message == FAILED + text
