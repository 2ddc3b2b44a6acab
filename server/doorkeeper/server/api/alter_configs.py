"""AlterConfigs (33), versions 0-2: replaces all keys of a resource.

The predecessor of IncrementalAlterConfigs, which is preferred: here every key that the request
does not name is reset. kafka-configs.sh up to 3.9 uses it for brokers. v2 is flexible.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.config_alteration import BROKER_LOGGER, ConfigAlterations, needs_by_type
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.resources.settings.operations import ConfigOperation
from doorkeeper_wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

_NEEDED = needs_by_type(AlterConfigsRequest.API_KEY)
# Loggers are unknown here: only IncrementalAlterConfigs alters them (KIP-412).
del _NEEDED[BROKER_LOGGER]

_ALTERATIONS = ConfigAlterations(
    _NEEDED,
    AlterConfigsResponse,
    AlterConfigsResourceResponse,
    operation_of=lambda _config: ConfigOperation.SET,
    replaces=True,
)

API = declare(
    AlterConfigsRequest, _ALTERATIONS.alter, refuse_rows(AlterConfigsResponse), on_controller=True
)
