"""DescribeClientQuotas (48), versions 0-1: the quotas of the entities that a filter selects.

kafka-configs.sh asks for the quotas of users before it asks for their SCRAM credentials. Needs
DESCRIBE_CONFIGS on the cluster (31). An invalid filter is answered as a broker answers
it: 42, and 35 for a type of entity that is not known. Entities and quotas are sorted; a broker has
them in the order of its hash tables. v1 is flexible.

Source: ``KafkaApis.handleDescribeClientQuotasRequest``, ``ClientQuotasImage.describe`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.quotas import describe, quota_filter
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

(_DESCRIBE_CONFIGS,) = needs(DescribeClientQuotasRequest.API_KEY)


def handle(
    request: DescribeClientQuotasRequest, context: RequestContext, node: Node
) -> DescribeClientQuotasResponse:
    if not is_allowed(node, context, _DESCRIBE_CONFIGS):
        # No text here, unlike ``require_on_cluster``.
        raise ApiError(_DESCRIBE_CONFIGS.refusal)
    components = [
        (component.entity_type, component.match_type, component.match)
        for component in request.components
    ]
    filter = quota_filter(components, strict=request.strict)
    return DescribeClientQuotasResponse(
        entries=tuple(
            EntryData(
                entity=tuple(
                    EntityData(entity_type=kind, entity_name=name) for kind, name in entity
                ),
                values=tuple(ValueData(key=name, value=value) for name, value in values),
            )
            for entity, values in describe(node.state.quotas, filter)
        )
    )


API = declare(
    DescribeClientQuotasRequest, handle, refuse_as(DescribeClientQuotasResponse, entries=None)
)
