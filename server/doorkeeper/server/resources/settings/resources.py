"""The configurations of groups and of subscriptions to client metrics: the table and its changes.

They have no effect, but are validated, stored and described as by a broker. The resources need not
exist.

Source: ``ConfigurationControlManager``, ``ControllerConfigurationValidator`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Self

import immutables

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.policies.contract import ConfigAlteration, ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.client_metrics import check_client_metrics
from doorkeeper.server.resources.settings.group import check_group
from doorkeeper.server.resources.settings.operations import (
    CLIENT_METRICS,
    GROUP,
    AlteredResource,
    ConfigOperation,
    altered,
    not_a_list,
)
from doorkeeper.server.resources.settings.topic import InvalidConfig
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import RESOURCE_CONFIG, StoredResourceConfig


class ResourceConfigs:
    """The values of all resources; immutable."""

    __slots__ = ("_by_resource",)

    def __init__(
        self,
        by_resource: immutables.Map[tuple[str, str], immutables.Map[str, str]] | None = None,
    ) -> None:
        self._by_resource = immutables.Map() if by_resource is None else by_resource

    def of(self, resource_type: str, name: str) -> Mapping[str, str]:
        """Return the values of a resource by key; empty without any."""
        return self._by_resource.get((resource_type, name), _NONE)

    def names(self, resource_type: str) -> list[str]:
        """Return the resources of a type that have values, sorted."""
        return sorted(name for kind, name in self._by_resource if kind == resource_type)

    def __iter__(self) -> Iterator[tuple[tuple[str, str], Mapping[str, str]]]:
        """Yield the resources that have values, in no order."""
        return iter(self._by_resource.items())

    def with_changes(
        self,
        set: Iterable[StoredResourceConfig],
        deleted: Iterable[StoredResourceConfig],
    ) -> Self:
        """Return the values without ``deleted`` and with ``set``; O(log n) for each row."""
        with self._by_resource.mutate() as resources:
            for row in deleted:
                key = row.resource_type, row.resource
                left = resources.get(key, _NONE)
                if row.name in left:
                    left = left.delete(row.name)
                if left:
                    resources[key] = left
                else:
                    resources.pop(key, None)
            for row in set:
                key = row.resource_type, row.resource
                resources[key] = resources.get(key, _NONE).set(row.name, row.value)
            configs = resources.finish()
        return type(self)(configs)


_POLICY_TYPES: Final = {
    GROUP: ConfigResourceType.GROUP,
    CLIENT_METRICS: ConfigResourceType.CLIENT_METRICS,
}
_NONE: Final[immutables.Map[str, str]] = immutables.Map()


def _altered_values(
    configs: ResourceConfigs, resource: AlteredResource, number: Callable[[str], int]
) -> Mapping[str, str]:
    """Return the values of a resource after a change."""
    present = configs.of(resource.stored_type, resource.name)
    values = altered({} if resource.replaces else present, resource.alterations, _no_list)
    try:
        if resource.stored_type == GROUP:
            if not resource.name:
                text = "Default group resources are not allowed."
                raise ApiError(ErrorCode.INVALID_REQUEST, text)
            check_group(values, number)
        else:
            if not resource.name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
            check_client_metrics(values)
    except InvalidConfig as fault:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(fault)) from None
    return values


def _no_list(name: str, operation: ConfigOperation) -> str:
    # A controller knows the types of the keys of topics and brokers only.
    raise not_a_list(name, operation)


def plan_alteration(
    configs: ResourceConfigs,
    resource: AlteredResource,
    number: Callable[[str], int],
    policy: Policies,
) -> Change:
    """Return the change of the values of a resource; an empty one if they are the same.

    ``number`` returns the value of a key of the server, which bounds those of groups.
    """
    kind, name = resource.stored_type, resource.name
    present, values = configs.of(kind, name), _altered_values(configs, resource, number)
    names = (alteration.name for alteration in resource.alterations)
    changed = {n: values.get(n) for n in names if values.get(n) != present.get(n)}
    policy.check_alteration(ConfigAlteration(_POLICY_TYPES[kind], name, changed))
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
