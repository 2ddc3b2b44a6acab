"""The registry of APIs, by key: all of this package, each declared at the end of its module.

ApiVersions is answered from it, so that it lists exactly the APIs served. Another package adds its
APIs to the table of one server with ``ApiTable.with_apis``: the test broker does.

All are imported at the start, in 16 ms: a first request would hold up all others meanwhile.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from doorkeeper.server.api.node import ApiRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.server.api.declaration import Api


class RegisteredTwice(ValueError):
    """Two handlers claim one API key."""


class ApiTable(dict[int, "Api"]):
    """APIs by key, in the order of the keys."""

    def __init__(self, apis: Iterable[Api]) -> None:
        """Take the APIs, in any order.

        Raises:
            RegisteredTwice: a key occurs twice.
        """
        super().__init__()
        for api in sorted(apis, key=lambda api: api.key):
            if api.key in self:
                raise RegisteredTwice(f"key {api.key}: {self[api.key].name} and {api.name}")
            self[api.key] = api
        self._ranges = {
            controller: tuple(
                ApiRange(api.key, api.min_version, api.max_version)
                for api in self.values()
                if api.on_controller or not controller
            )
            for controller in (False, True)
        }

    def ranges(self, *, controller: bool) -> tuple[ApiRange, ...]:
        """Return the rows of ApiVersions for listeners of a kind, by key."""
        return self._ranges[controller]

    def with_apis(self, apis: Iterable[Api]) -> ApiTable:
        """Return the table of a server with further APIs; each replaces one that has its key.

        Raises:
            RegisteredTwice: two of them have the same key.
        """
        # Their handlers may change what is theirs: always on the event loop.
        added = ApiTable(replace(api, in_thread=False) for api in apis)
        return ApiTable((self | added).values())


def _declared(module: str) -> Api:
    declaring: Any = import_module(f"{__package__}.{module}")
    api: Api = declaring.API
    return api


MODULES: Final = (
    "alter_client_quotas",
    "alter_configs",
    "alter_partition_reassignments",
    "alter_replica_log_dirs",
    "alter_user_scram_credentials",
    "api_versions",
    "consumer_group_describe",
    "create_acls",
    "create_delegation_token",
    "create_partitions",
    "create_topics",
    "delete_acls",
    "delete_groups",
    "delete_records",
    "delete_topics",
    "describe_acls",
    "describe_client_quotas",
    "describe_cluster",
    "describe_configs",
    "describe_delegation_token",
    "describe_groups",
    "describe_log_dirs",
    "describe_producers",
    "describe_quorum",
    "describe_topic_partitions",
    "describe_transactions",
    "describe_user_scram_credentials",
    "elect_leaders",
    "expire_delegation_token",
    "find_coordinator",
    "incremental_alter_configs",
    "init_producer_id",
    "join_group",
    "leave_group",
    "list_config_resources",
    "list_groups",
    "list_offsets",
    "list_partition_reassignments",
    "list_transactions",
    "metadata",
    "offset_commit",
    "offset_delete",
    "offset_fetch",
    "offset_for_leader_epoch",
    "produce",
    "renew_delegation_token",
    "sasl_authenticate",
    "sasl_handshake",
    "share_group_describe",
    "streams_group_describe",
    "unregister_broker",
    "update_features",
)
"""The modules that declare an API: a test names one that is missing."""

# Both tables exist once: the look-up of an API is on the path of every request.
_EVERY: Final = ApiTable(map(_declared, MODULES))

APIS: Final = ApiTable(api for api in _EVERY.values() if not api.is_optional)
"""Every API by key, without those that the configuration must enable."""


def apis(*, optional: bool = False) -> ApiTable:
    """Return the APIs that are served, by key; with ``optional`` those that must be enabled too."""
    return _EVERY if optional else APIS
