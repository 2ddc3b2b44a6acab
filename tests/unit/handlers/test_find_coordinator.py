"""FindCoordinator: key types, texts by version, refusals."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.cluster.model import Broker
from doorkeeper.handlers.find_coordinator import API
from doorkeeper_wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from testkit.acl import DESCRIBE, allow, group
from testkit.nodes import CLUSTER, answer, node_of

LONG_TEXT = (
    "This most likely occurs because of a request being malformed by the client library or the"
    " message was sent to an incompatible broker. See the broker logs for more details."
)
SHARE_KEY = "share:Sme7FWb4QrOTXBzRGIxEOw:0"


@pytest.mark.parametrize(("version", "text"), [(0, ""), (1, "NONE")])
async def test_one_key_before_version_4(version: int, text: str) -> None:
    """This node, at once; the text of success is literally NONE."""
    node = await node_of()

    found = answer(API, FindCoordinatorRequest(key="g"), node, version)

    assert (found.error_code, found.error_message) == (0, text)
    assert (found.node_id, found.host, found.port) == (1, "broker.example", 9092)


@pytest.mark.parametrize("version", [4, 6])
async def test_several_keys_from_version_4(version: int) -> None:
    """A row for each key, in order, with empty texts; refused ones have no node."""
    node = await node_of(allow("alice", DESCRIBE, group("g")))
    request = FindCoordinatorRequest(coordinator_keys=("h", "g"))

    found = answer(API, request, node, version, user="alice")

    assert found.coordinators == (
        Coordinator(key="h", node_id=-1, host="", port=-1, error_code=30, error_message=""),
        Coordinator(
            key="g", node_id=1, host="broker.example", port=9092, error_code=0, error_message=""
        ),
    )
    assert node.lines() == [
        "INFO Denied DESCRIBE Group:LITERAL:h 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:g 1",
    ]


@pytest.mark.parametrize(
    ("key_type", "code", "text"),
    [
        (0, 30, "Group authorization failed."),
        (1, 53, "Transactional Id authorization failed."),
        (2, 42, LONG_TEXT),
        (7, 42, LONG_TEXT),
    ],
)
async def test_refusals_before_version_4(key_type: int, code: int, text: str) -> None:
    """The stock text of the code, and no node."""
    node = await node_of()
    request = FindCoordinatorRequest(key="x", key_type=key_type)

    refused = answer(API, request, node, 3, user="nobody")

    assert (refused.error_code, refused.error_message) == (code, text)
    assert (refused.node_id, refused.host, refused.port) == (-1, "", -1)


@pytest.mark.parametrize(
    ("version", "user", "key", "code", "text"),
    [
        (5, "admin", SHARE_KEY, 42, ""),
        (5, "nobody", SHARE_KEY, 42, ""),
        (6, "admin", SHARE_KEY, 0, ""),
        (6, "alice", SHARE_KEY, 0, ""),
        (6, "admin", "share", 42, ""),
        (6, "nobody", SHARE_KEY, 31, "Cluster authorization failed."),
    ],
)
async def test_share_groups(version: int, user: str, key: str, code: int, text: str) -> None:
    """From v6, with CLUSTER_ACTION on the cluster, and keys of three parts."""
    node = await node_of(allow("alice", AclOperation.CLUSTER_ACTION, CLUSTER))
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=(key,))

    (row,) = answer(API, request, node, version, user=user).coordinators

    assert (row.error_code, row.error_message) == (code, text)


async def test_one_of_several_nodes_is_the_coordinator() -> None:
    """Whoever is asked names the same node; 15 where it has not the listener of the client."""
    node = await node_of()
    node.coordinator_id = 0
    node.listed = (Broker(0, "other.example", 9094), *node.listed)

    old = answer(API, FindCoordinatorRequest(key="g"), node, 3)
    new = answer(API, FindCoordinatorRequest(coordinator_keys=("g",)), node, 6)
    node.listed = node.listed[1:]
    old_away = answer(API, FindCoordinatorRequest(key="g"), node, 3)
    new_away = answer(API, FindCoordinatorRequest(coordinator_keys=("g",)), node, 6)

    assert (old.node_id, old.host, old.port) == (0, "other.example", 9094)
    assert (new.coordinators[0].node_id, new.coordinators[0].error_code) == (0, 0)
    assert (old_away.error_code, old_away.node_id) == (15, -1)
    assert (new_away.coordinators[0].error_code, new_away.coordinators[0].node_id) == (15, -1)
