"""AlterConfigs (33), versions 0-2: replaces all keys of a resource.

The predecessor of IncrementalAlterConfigs, which is preferred: here every key that the request
does not name is reset. kafka-configs.sh up to 3.9 uses it for brokers. v2 is flexible.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.server.api.config_alteration import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    ConfigAlterations,
    needs_by_type,
)
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node, Outcome
from doorkeeper.server.resources.settings.operations import ConfigOperation
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

_ALTERATIONS: Final = ConfigAlterations(
    # Loggers are unknown here: only IncrementalAlterConfigs alters them (KIP-412).
    needs_by_type(33, TOPIC, BROKER, CLIENT_METRICS, GROUP),
    AlterConfigsResponse,
    AlterConfigsResourceResponse,
    operation_of=lambda _config: ConfigOperation.SET,
    replaces=True,
)


def handle(request: AlterConfigsRequest, context: RequestContext, node: Node) -> Outcome:
    return _ALTERATIONS.alter(request, context, node)


API = declare(AlterConfigsRequest, handle, refuse_rows(AlterConfigsResponse), on_controller=True)
