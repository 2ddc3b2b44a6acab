"""Names of the codes that messages carry: ``operation`` 3 is READ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.acl.model import AclOperation, AclPermissionType, PatternType, ResourceType
from doorkeeper.configs.operations import ConfigOperation
from doorkeeper.errors import ErrorCode
from doorkeeper.users.table import MECHANISM_NAMES
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import IntEnum

_CONFIG_RESOURCES: Final = {
    0: "UNKNOWN",
    2: "TOPIC",
    4: "BROKER",
    8: "BROKER_LOGGER",
    16: "CLIENT_METRICS",
    32: "GROUP",
}
"""Source: ``org.apache.kafka.common.config.ConfigResource.Type``."""

_COORDINATORS: Final = {0: "GROUP", 1: "TRANSACTION", 2: "SHARE"}
"""Source: ``FindCoordinatorRequest.CoordinatorType``."""


def _names(codes: type[IntEnum]) -> dict[int, str]:
    return {code.value: code.name for code in codes}


_BY_FIELD: Final[Mapping[str, Mapping[int, str]]] = {
    "ApiKey": API_NAMES,
    "ErrorCode": _names(ErrorCode),
    "TopicConfigErrorCode": _names(ErrorCode),
    "Operation": _names(AclOperation),
    "PermissionType": _names(AclPermissionType),
    "PatternType": _names(PatternType),
    "PatternTypeFilter": _names(PatternType),
    "ResourcePatternType": _names(PatternType),
    "ResourceType": _names(ResourceType),
    "ResourceTypeFilter": _names(ResourceType),
    "ConfigOperation": _names(ConfigOperation),
    "Mechanism": MECHANISM_NAMES,
    "KeyType": _COORDINATORS,
}
_CONFIG_APIS: Final = {"AlterConfigs", "DescribeConfigs", "IncrementalAlterConfigs"}


def code_name(api: str, field: str, value: object) -> str | None:
    """Return the name of a code in a field of an API; None where the field holds no known code."""
    if not isinstance(value, int):
        return None
    if field == "ResourceType" and api in _CONFIG_APIS:
        return _CONFIG_RESOURCES.get(value)
    return _BY_FIELD.get(field, {}).get(value)
