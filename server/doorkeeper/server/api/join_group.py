"""JoinGroup (11), versions 0-9: answers that there is no coordinator.

Needs READ on the group (30). Without the test broker nothing coordinates groups: the server always
answers 15, COORDINATOR_NOT_AVAILABLE, which clients retry. An old librdkafka (2.0.2, of Debian 12)
offers GSSAPI only to servers that list this API: `doorkeeper.clients.join.group=true` does.

Source: ``handleJoinGroupRequest`` and ``GroupCoordinatorService.joinGroup`` of the broker 4.3.1;
``RD_KAFKA_FEATURE_SASL_GSSAPI`` of librdkafka 2.0.2.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

(_READ,) = needs(JoinGroupRequest.API_KEY)

PROTOCOL_TYPE_FROM: Final = 7
"""The version that answers the type of the protocol, and may answer a null name."""


def handle(request: JoinGroupRequest, context: RequestContext, node: Node) -> JoinGroupResponse:
    version = context.authorizable.request_version
    if not is_allowed(node, context, _READ, request.group_id):
        return refusal(version, _READ.refusal)
    # A retriable error: a consumer waits and keeps asking, instead of failing.
    return refusal(version, ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)


def refuse(request: JoinGroupRequest, version: int, error: BaseException) -> JoinGroupResponse:
    code, _ = answer_of(error)
    return refusal(version, code)


def refusal(version: int, code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code.value,
        generation_id=-1,
        # Null is allowed from version 7 on.
        protocol_name=None if version >= PROTOCOL_TYPE_FROM else "",
        member_id=member_id,
    )


API = declare(JoinGroupRequest, handle, refuse, is_optional=True)
