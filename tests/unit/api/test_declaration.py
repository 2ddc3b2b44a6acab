"""What a handler module declares of itself."""

from __future__ import annotations

from doorkeeper.api.declaration import declare, refuse_as
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.list_groups import ListGroupsResponse

ERROR = ApiError(ErrorCode.INVALID_REQUEST, "not this")


def test_an_api_is_for_brokers_unless_it_says_otherwise() -> None:
    """Key, name and versions are those of the request; few APIs are for controllers."""
    api = declare(DescribeClusterRequest, lambda *_: None, lambda *_: None)

    assert (api.key, api.name, api.min_version, api.max_version) == (60, "DescribeCluster", 0, 2)
    assert (api.on_broker, api.on_controller) == (True, False)


def test_a_refusal_has_a_text_where_the_response_has_a_field_for_it() -> None:
    """And the other fields as the handler wants them."""
    refuse = refuse_as(DescribeClusterResponse, cluster_id="x")

    expected = DescribeClusterResponse(error_code=42, error_message="not this", cluster_id="x")
    assert refuse(DescribeClusterRequest(), 1, ERROR) == expected
    assert refuse_as(ListGroupsResponse)(None, 1, ERROR) == ListGroupsResponse(error_code=42)
