"""Validation of changed topic configurations.

Source: ``ConfigurationControlManager``, ``ControllerConfigurationValidator`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.values import KeyType
from doorkeeper.server.resources.cluster import Topic
from doorkeeper.server.resources.policies.contract import ConfigAlteration, ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import (
    AlteredResource,
    ConfigOperation,
    altered,
    not_a_list,
)
from doorkeeper.server.resources.settings.topic import InvalidConfig, check_configs, topic_settings
from doorkeeper.server.resources.topics.names import reason_invalid


def altered_topic(
    resource: AlteredResource, topic: Topic | None, policy: Policies
) -> Mapping[str, str]:
    """Return the configuration of a topic after a change; ``topic`` is None without one."""
    name = resource.name
    # The order of these checks is the controller's: operations before the name, and the
    # configuration before the topic's existence.
    present = {} if topic is None or resource.replaces else topic.configs
    configs = altered(present, resource.alterations, _first_elements)
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    reason = reason_invalid(name)
    if reason is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    try:
        check_configs(configs)
    except InvalidConfig as fault:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(fault)) from None
    if topic is None:
        text = f"The topic '{name}' does not exist."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    names = (change.name for change in resource.alterations)
    changed = {n: configs.get(n) for n in names if configs.get(n) != topic.configs.get(n)}
    policy.check_alteration(ConfigAlteration(ConfigResourceType.TOPIC, name, changed))
    return configs


def _first_elements(name: str, operation: ConfigOperation) -> str:
    config = topic_settings().get(name)
    if config is None or config.type is not KeyType.LIST:
        raise not_a_list(name, operation)
    return config.default or ""
