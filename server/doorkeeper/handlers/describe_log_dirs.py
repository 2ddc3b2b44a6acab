"""DescribeLogDirs (35), versions 1-5: describes the folders of logs, of which there are none.

Needs DESCRIBE on the cluster; a caller without it gets an empty list, and 31 from version 3 on.

    v2  flexible     v3  an error for the whole answer     v4  sizes of volumes
    v5  whether a folder takes new partitions

Source: ``handleDescribeLogDirsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.declaration import Api
from doorkeeper.api.permissions import is_allowed, needs
from doorkeeper.errors import answer_of
from doorkeeper_wire.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

if TYPE_CHECKING:
    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext

(_DESCRIBE,) = needs(35)


def handle(
    request: DescribeLogDirsRequest,  # noqa: ARG001  the form of Api.handle
    context: RequestContext,
    node: Node,
) -> DescribeLogDirsResponse:
    """Return an empty list."""
    if is_allowed(node, context, _DESCRIBE):
        return DescribeLogDirsResponse()
    return DescribeLogDirsResponse(error_code=_DESCRIBE.refusal.value)


def refuse(
    request: DescribeLogDirsRequest,  # noqa: ARG001  the form of Api.refuse
    version: int,  # noqa: ARG001  as above
    error: BaseException,
) -> DescribeLogDirsResponse:
    """Answer an error for the whole request."""
    code, _ = answer_of(error)
    return DescribeLogDirsResponse(error_code=code.value)


API = Api(
    key=35,
    name="DescribeLogDirs",
    min_version=1,
    max_version=5,
    request=DescribeLogDirsRequest,
    handle=handle,
    refuse=refuse,
)
