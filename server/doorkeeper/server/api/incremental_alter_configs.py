"""IncrementalAlterConfigs (44), versions 0-1: changes single keys of resources.

Needs ALTER_CONFIGS: on the cluster for a broker, its loggers and client metrics (31); on the topic
(29); on the group (30). Every resource has its own result, in the order of the request, and is
changed as a whole or not at all. v1 is flexible.

    broker     this node's id, or no name for the cluster-wide default: keys that apply without a
               restart (see ``broker_configs``). Their faults are reported before the permission is
               checked.
    topic      the configuration of a topic that was created over the wire
    group, client metrics   stored, and validated as by a broker; lists cannot be extended
    broker logger           refused with 42

A duplicate resource, a duplicate key, a null to set: 42. An unknown type is 42 for its resource.
``validate_only`` checks and changes nothing.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from operator import attrgetter

from doorkeeper.server.api.config_alteration import ConfigAlterations, needs_by_type
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_ALTERATIONS = ConfigAlterations(
    needs_by_type(IncrementalAlterConfigsRequest.API_KEY),
    IncrementalAlterConfigsResponse,
    AlterConfigsResourceResponse,
    operation_of=attrgetter("config_operation"),
)

API = declare(
    IncrementalAlterConfigsRequest,
    _ALTERATIONS.alter,
    refuse_rows(IncrementalAlterConfigsResponse),
    on_controller=True,
)
