"""All APIs that this server speaks, by key.

ApiVersions is answered from this table, so what it says is what is served. A few are served only
where the configuration asks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.node import ApiRange
from doorkeeper.handlers import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    create_acls,
    create_delegation_token,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_topic_partitions,
    describe_user_scram_credentials,
    expire_delegation_token,
    find_coordinator,
    incremental_alter_configs,
    join_group,
    list_groups,
    metadata,
    produce,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper.api.declaration import Api


class RegisteredTwice(ValueError):
    """Two handlers claim one API key."""


def by_key(apis: Iterable[Api]) -> dict[int, Api]:
    """Return APIs by key, in the order of the keys.

    Raises:
        RegisteredTwice: a key occurs twice.

    """
    table: dict[int, Api] = {}
    for each in sorted(apis, key=lambda one: one.key):
        if each.key in table:
            raise RegisteredTwice(f"key {each.key}: {table[each.key].name} and {each.name}")
        table[each.key] = each
    return table


APIS: dict[int, Api] = by_key(
    module.API
    for module in (
        alter_client_quotas,
        alter_configs,
        alter_user_scram_credentials,
        api_versions,
        create_acls,
        create_delegation_token,
        create_topics,
        delete_acls,
        delete_topics,
        describe_acls,
        describe_client_quotas,
        describe_cluster,
        describe_configs,
        describe_delegation_token,
        describe_groups,
        describe_topic_partitions,
        describe_user_scram_credentials,
        expire_delegation_token,
        find_coordinator,
        incremental_alter_configs,
        list_groups,
        metadata,
        produce,
        renew_delegation_token,
        sasl_authenticate,
        sasl_handshake,
    )
)
"""Every API by key, but those of ``OPTIONAL``."""

OPTIONAL: dict[int, Api] = by_key([join_group.API])
"""What is served only with ``doorkeeper.clients.join.group``."""

_TABLES = {False: APIS, True: by_key([*APIS.values(), *OPTIONAL.values()])}


def apis(*, optional: bool = False) -> Mapping[int, Api]:
    """Return the APIs that are served, by key."""
    return _TABLES[optional]


def is_offered(each: Api, *, controller: bool) -> bool:
    """Say whether listeners of a kind answer an API."""
    return each.on_controller if controller else each.on_broker


_RANGES = {
    (controller, optional): tuple(
        ApiRange(each.key, each.min_version, each.max_version)
        for each in table.values()
        if is_offered(each, controller=controller)
    )
    for controller in (False, True)
    for optional, table in _TABLES.items()
}


def api_ranges(*, controller: bool, optional: bool = False) -> tuple[ApiRange, ...]:
    """Return what ApiVersions lists on listeners of a kind, by key."""
    return _RANGES[controller, optional]
