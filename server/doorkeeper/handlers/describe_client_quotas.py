"""DescribeClientQuotas (48), versions 0-1: there are no quotas here, so every answer is empty.

kafka-configs.sh asks for the quotas of users before it asks for their SCRAM credentials. Needs
DESCRIBE_CONFIGS on the cluster (31). What is wrong with the filter is told as a broker tells it:
42, and 35 for a type of entity that is not known. v1 is flexible.

Source: ``KafkaApis.handleDescribeClientQuotasRequest``, ``ClientQuotasImage.describe`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api import Api
from doorkeeper.errors import ApiError, ErrorCode, answer_of
from doorkeeper.permissions import is_allowed, needs
from doorkeeper_wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from doorkeeper.node import Node
    from doorkeeper.request_context import RequestContext
    from doorkeeper_wire.messages.describe_client_quotas import ComponentData

(_DESCRIBE_CONFIGS,) = needs(48)

_EXACT, _DEFAULT, _SPECIFIED = range(3)
_IP, _USER, _CLIENT_ID = "ip", "user", "client-id"


def handle(
    request: DescribeClientQuotasRequest, context: RequestContext, node: Node
) -> DescribeClientQuotasResponse:
    """Check who asks and the filter; find nothing."""
    if not is_allowed(node, context, _DESCRIBE_CONFIGS):
        raise ApiError(_DESCRIBE_CONFIGS.refusal)
    types: set[str] = set()
    for component in request.components:
        _check(component, types)
        types.add(component.entity_type)
    if _IP in types and types & {_USER, _CLIENT_ID}:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used"
            " with user or clientId filter component.",
        )
    return DescribeClientQuotasResponse()


def _check(component: ComponentData, types: set[str]) -> None:
    kind, match = component.entity_type, component.match
    if not kind:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if kind in types:
        text = f"Entity type {kind} cannot appear more than once in the filter."
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if kind not in (_IP, _USER, _CLIENT_ID):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if component.match_type == _EXACT:
        if match is None:
            text = "Request specified MATCH_TYPE_EXACT, but set match string to null."
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
    elif component.match_type in (_DEFAULT, _SPECIFIED):
        if match is not None:
            name = "DEFAULT" if component.match_type == _DEFAULT else "SPECIFIED"
            text = f"Request specified MATCH_TYPE_{name}, but also specified a match string."
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
    else:
        text = f"Unknown match type {component.match_type}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)


def refuse(
    request: DescribeClientQuotasRequest,  # noqa: ARG001  the form of Api.refuse
    version: int,  # noqa: ARG001  as above
    error: BaseException,
) -> DescribeClientQuotasResponse:
    """Answer an error for the whole request."""
    code, text = answer_of(error)
    return DescribeClientQuotasResponse(error_code=code.value, error_message=text, entries=None)


API = Api(
    key=48,
    name="DescribeClientQuotas",
    min_version=0,
    max_version=1,
    request=DescribeClientQuotasRequest,
    handle=handle,
    refuse=refuse,
)
