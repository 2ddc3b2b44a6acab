"""Keys of Kafka that have an effect with the test broker."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.api import api_versions, init_producer_id
from doorkeeper_broker.classic_apis import ClassicApis
from doorkeeper_broker.consumer_apis import ConsumerApis
from doorkeeper_broker.coordinator import Coordinator
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from doorkeeper_wire.messages.init_producer_id import InitProducerIdRequest
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from testkit.nodes import ANode, a_topic, answer, node_of
from testkit.settings import warnings_from


class Log:
    """The log in which groups are published."""

    def __init__(self, node: ANode) -> None:
        self._node = node

    @property
    def state(self) -> Any:
        return self._node.state

    def amend(self, live_groups: Any) -> None:
        self._node.state = replace(self._node.state, live_groups=live_groups)
        self._node.groups = live_groups


async def asked(properties: str, request: Any, version: int) -> Any:
    """Return the answer of a new coordinator to one request."""
    node = await node_of(topics=[a_topic("t")], properties=properties)
    coordinator = Coordinator(Log(node), node.now_ms, lambda: node.settings)  # type: ignore[arg-type]
    groups = ClassicApis(coordinator), ConsumerApis(coordinator)
    try:
        (api,) = (api for part in groups for api in part.apis() if api.key == request.API_KEY)
        return answer(api, request, node, version)
    finally:
        coordinator.close()


@pytest.mark.parametrize(
    ("key", "timeout_ms", "code"),
    [
        ("", 100, 26),
        ("group.min.session.timeout.ms=100", 100, 79),
        ("group.max.session.timeout.ms=7000", 8_000, 26),
    ],
)
async def test_session_timeouts(key: str, timeout_ms: int, code: int) -> None:
    """Tests lower the bounds that members of classic groups have."""
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=timeout_ms,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    assert (await asked(key, request, 4)).error_code == code


@pytest.mark.parametrize(
    ("key", "outcome"),
    [
        ("", (0, 5_000)),
        ("group.consumer.heartbeat.interval.ms=500", (0, 500)),
        ("group.coordinator.rebalance.protocols=classic", (35, 0)),
    ],
)
async def test_consumer_group_settings(key: str, outcome: tuple[int, int]) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="a",
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=("t",),
        topic_partitions=(),
    )
    answered = await asked(key, request, 1)
    assert (answered.error_code, answered.heartbeat_interval_ms) == outcome


async def test_transaction_timeout_limit() -> None:
    """A longer time-out is 50."""
    node = await node_of(properties="transaction.max.timeout.ms=1000")
    request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1_001)
    assert answer(init_producer_id.API, request, node, 4).error_code == 50


async def test_transaction_version_feature() -> None:
    """``transaction.version`` is a feature of the test broker (KIP-890), from ApiVersions 4 on."""
    node = await node_of(properties="doorkeeper.test.broker=true")
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")

    listed = answer(api_versions.API, request, node, 4)
    assert ("transaction.version", 2) in {
        (each.name, each.max_version_level) for each in listed.finalized_features
    }
    assert len(answer(api_versions.API, request, node, 3).supported_features) == 1


def test_keys_without_test_broker_are_reported() -> None:
    given = "group.min.session.timeout.ms=1"
    (warning,) = (text for text in warnings_from(given) if "no effect" in text)
    assert "Kafka keys that have no effect here: group.min.session.timeout.ms" in warning
    both = warnings_from(f"{given}\ndoorkeeper.test.broker=true")
    assert not [text for text in both if "no effect" in text]
