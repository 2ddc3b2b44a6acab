"""APIs that need one permission on the cluster and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api.node import Update
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.api.registry import APIS
from doorkeeper_wire.declared import tree
from testkit.acl import allow
from testkit.nodes import CLUSTER, answer, node_of, outcome
from testkit.wire_values import Filling, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDS = {
    api.name: AclOperation[REQUIRED[key][0].operation]
    for key, api in APIS.items()
    if [(row.resource, row.when, row.refusal) for row in REQUIRED[key]]
    == [("CLUSTER", "always", 31)]
}
"""An API with another permission has tests of its own."""


def codes(value: Any) -> Iterator[int]:
    """Yield all error codes of a response."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "error_code":
                yield item
            yield from codes(item)
    for item in value if isinstance(value, tuple) else ():
        yield from codes(item)


@pytest.mark.parametrize("name", NEEDS)
async def test_missing_permission_returns_31_everywhere(name: str) -> None:
    (api,) = (api for api in APIS.values() if api.name == name)
    declared = tree(f"{name}Request", api.max_version)
    frame = declared.build(Filling(sparse=False).record(declared))
    request, _ = api.request.decode(frame, 0, api.max_version)
    needed = NEEDS[name]
    denying = await node_of(allow("alice", AclOperation.CREATE, CLUSTER))
    allowing = await node_of(allow("alice", needed, CLUSTER))

    denied = answer(api, request, denying, api.max_version, user="alice")
    allowed = outcome(api, request, allowing, api.max_version, user="alice")

    assert set(codes(plain(denied))) == {31}
    assert denying.lines() == [f"INFO Denied {needed.name} Cluster:LITERAL:kafka-cluster 1"]
    assert isinstance(allowed, Update) or 31 not in set(codes(plain(allowed)))
