"""Plans that create, delete and alter topics.

The topics of a request are one change, without those that are rejected.

Source: ``ConfigurationControlManager``, ``ControllerConfigurationValidator`` (4.3.1), for their
configurations.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.values import KeyType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import (
    AlteredResource,
    ConfigOperation,
    altered,
)
from doorkeeper.server.resources.settings.topic import InvalidConfig, check_configs, topic_settings
from doorkeeper.server.resources.topics.names import reason_invalid
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic


def plan_creation(
    topics: Topics, created: Iterable[StoredTopic]
) -> tuple[Change, list[ApiError | None]]:
    """Return the change, and an error or None for each topic in order."""
    errors: list[ApiError | None] = []
    added: dict[str, StoredTopic] = {}
    for row in created:
        if row.name in added or topics.get(row.name) is not None:
            text = f"Topic '{row.name}' already exists."
            errors.append(ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, text))
        else:
            added[row.name] = row
            errors.append(None)
    return edit(TOPIC, set=added.values()), errors


def plan_deletion(topics: Topics, names: Iterable[str]) -> tuple[Change, list[ApiError | None]]:
    """Return the change, and an error or None for each name in order."""
    errors: list[ApiError | None] = []
    deleted: dict[str, StoredTopic] = {}
    for name in names:
        topic = topics.get(name)
        # A name that is given twice is unknown the second time.
        if topic is None or name in deleted:
            errors.append(ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            deleted[name] = topic
            errors.append(None)
    return edit(TOPIC, deleted=deleted.values()), errors


def plan_alteration(topics: Topics, resource: AlteredResource, policy: Policies) -> Change:
    """Return the change of a topic's configuration; an empty one if it is the same."""
    name, topic = resource.name, topics.get(resource.name)
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
    policy.check_alteration(resource.changed(topic.configs, configs))
    return {} if configs == topic.configs else edit(TOPIC, set=[replace(topic, configs=configs)])


def _first_elements(name: str, _operation: ConfigOperation) -> str | None:
    config = topic_settings().get(name)
    return None if config is None or config.type is not KeyType.LIST else config.default or ""
