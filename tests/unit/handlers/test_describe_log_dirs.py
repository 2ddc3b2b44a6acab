"""DescribeLogDirs: no folders, and a refusal."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.describe_log_dirs import API
from doorkeeper_wire.messages.describe_log_dirs import DescribeLogDirsRequest
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, a_topic, answer, node_of


@pytest.mark.parametrize("version", range(1, 6))
async def test_folders(version: int) -> None:
    """There are none; a refusal has a code from version 3 on."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER), topics=[a_topic("a")])
    request = DescribeLogDirsRequest(topics=None)

    shown = answer(API, request, node, version, user="alice")
    refused = answer(API, request, node, version, user="bob")

    assert (shown.error_code, shown.results) == (0, ())
    assert (refused.error_code, refused.results) == (31 if version >= 3 else 0, ())
