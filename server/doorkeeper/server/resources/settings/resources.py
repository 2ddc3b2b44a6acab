"""The configurations of groups and of subscriptions to client metrics: the table and its changes.

They have no effect, but are validated, stored and described as by a broker. The resources need not
exist.

Source: ``ConfigurationControlManager``, ``ControllerConfigurationValidator`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.nested_maps import OwnedValues
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.client_metrics import check_client_metrics
from doorkeeper.server.resources.settings.group import check_group
from doorkeeper.server.resources.settings.operations import (
    STORED_TYPES,
    AlteredResource,
    altered,
)
from doorkeeper.server.resources.settings.topic import InvalidConfig
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import RESOURCE_CONFIG, StoredResourceConfig


class ResourceConfigs(OwnedValues[tuple[str, str], str]):
    """The values of all resources, by type and name; immutable."""

    @staticmethod
    def owner_of(row: StoredResourceConfig) -> tuple[str, str]:
        return row.resource_type, row.resource

    def names(self, resource_type: str) -> list[str]:
        """Return the resources of a type that have values, sorted."""
        return sorted(name for (kind, name), _ in self if kind == resource_type)


def plan_alteration(
    configs: ResourceConfigs,
    resource: AlteredResource,
    number: Callable[[str], int],
    policy: Policies,
) -> Change:
    """Return the change of the values of a resource; an empty one if they are the same.

    ``number`` returns the value of a key of the server, which bounds those of groups.
    """
    kind, name = STORED_TYPES[resource.kind], resource.name
    present = configs.of((kind, name))
    before = {} if resource.replaces else present
    # A controller knows the types of the keys of topics and brokers only: nothing is a list.
    values = altered(before, resource.alterations, lambda _name, _operation: None)
    _check(resource, values, number)
    policy.check_alteration(resource.changed(present, values))
    put = [
        StoredResourceConfig(kind, name, key, value)
        for key, value in sorted(values.items())
        if present.get(key) != value
    ]
    gone = [
        StoredResourceConfig(kind, name, key, value)
        for key, value in sorted(present.items())
        if key not in values
    ]
    return edit(RESOURCE_CONFIG, set=put, deleted=gone)


def _check(
    resource: AlteredResource, values: Mapping[str, str], number: Callable[[str], int]
) -> None:
    is_group = resource.kind == ConfigResourceType.GROUP
    if not resource.name:
        text = "Default group resources are not allowed."
        raise ApiError(
            ErrorCode.INVALID_REQUEST, text if is_group else "Subscription name can't be empty"
        )
    try:
        if is_group:
            check_group(values, number)
        else:
            check_client_metrics(values)
    except InvalidConfig as fault:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(fault)) from None
