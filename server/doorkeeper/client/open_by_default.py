"""``allow.everyone.if.no.acl.found`` of a cluster, as far as its brokers tell it.

A broker lists the keys of its authorizer as it lists all that it does not know: only where they are
set, and without their values.

Source: ``ConfigHelper.createResponseConfig`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.client.admin import AdminClient
from doorkeeper_wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

KEY: Final = "allow.everyone.if.no.acl.found"

_BROKER: Final = 4
"""The code of BROKER among the resources of configurations."""


async def is_open_by_default(client: AdminClient) -> bool | None:
    """Return whether a broker of a cluster allows everyone what no ACL is about.

    None if one does not tell: it may not be asked (DESCRIBE_CONFIGS on the cluster), is not
    reached, or the key is set there and its value hidden.

    Raises:
        ClientError: no broker could be asked for the others.
    """

    async def ask(node_id: int) -> bool | None:
        resource = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(node_id), configuration_keys=(KEY,)
        )
        request = DescribeConfigsRequest(resources=(resource,))
        return _is_open(await client.call(request, DescribeConfigsResponse, node_id=node_id))

    answers = set(await client.ask_each((await client.cluster()).nodes, ask))
    if True in answers:
        return True
    return None if None in answers or not answers else False


def _is_open(answer: DescribeConfigsResponse) -> bool | None:
    for result in answer.results:
        if result.error_code:
            return None
        for config in result.configs:
            if config.name == KEY:
                return None if config.value is None else config.value.strip().lower() == "true"
    return False if answer.results else None
