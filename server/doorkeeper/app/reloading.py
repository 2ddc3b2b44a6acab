"""What SIGHUP changes: log levels, users of PLAIN, super users, the catalog.

All of it is checked before any of it is used: a file with an error leaves everything as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from doorkeeper.app.catalogs import catalog_of
from doorkeeper.app.edge import sasl_of
from doorkeeper.app.errors import StartError
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from doorkeeper.app.assembly import Assembly
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger, Logs

RELOADED = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "doorkeeper.authorizer.log.format",
        "doorkeeper.catalog.file",
        "doorkeeper.log.levels",
        "super.users",
    }
)
"""The keys that count without a restart, beside the users of PLAIN."""


def reload(file: Path | None, overrides: Sequence[str], assembly: Assembly, logs: Logs) -> None:
    """Read the configuration again, use what can be used, and log what came of it."""
    log: Logger = structlog.get_logger("doorkeeper.server")
    try:
        new = load(file, overrides).settings
        settings = merged(assembly.node.settings, new)
        catalog = catalog_of(settings.catalog_file)
        configure_again(assembly, settings)
    except (ConfigError, StartError) as error:
        for problem in error.problems:
            _tell(log, problem)
        return
    except ValueError as error:
        _tell(log, error)
        return
    logs.set_levels(settings.log_levels)
    for listener in settings.listeners:
        if listener.authenticates:
            assembly.edge.use_sasl(listener.name, sasl_of(listener))
    node = assembly.node
    node.replace_settings(settings)
    assembly.topic_changes.declare(() if catalog is None else catalog.declared(node.cluster_id))
    node.groups = {} if catalog is None else catalog.groups
    log.info("reloaded")
    needing_restart = changed_keys(settings.originals, new.originals)
    if needing_restart:
        log.warning("changed keys that need a restart", keys=", ".join(needing_restart))


def _tell(log: Logger, problem: object) -> None:
    log.error("not reloaded", problem=str(problem))


def merged(old: Settings, new: Settings) -> Settings:
    """Return the old settings with what can be reloaded from the new ones."""
    users = {each.name: each.plain_users for each in new.listeners}
    originals = {key: value for key, value in old.originals.items() if not is_reloaded(key)}
    originals |= {key: value for key, value in new.originals.items() if is_reloaded(key)}
    return replace(
        old,
        listeners=tuple(
            replace(each, plain_users=users.get(each.name, each.plain_users))
            for each in old.listeners
        ),
        super_users=new.super_users,
        allow_everyone_if_no_acl_found=new.allow_everyone_if_no_acl_found,
        catalog_file=new.catalog_file,
        log_levels=new.log_levels,
        originals=originals,
    )


def is_reloaded(key: str) -> bool:
    """Say whether a key counts without a restart."""
    return key in RELOADED or key.endswith(".plain.sasl.jaas.config")


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the keys whose values differ, sorted."""
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def configure_again(assembly: Assembly, settings: Settings) -> None:
    """Give the standard authorizer its super users; a plug-in keeps what it was given.

    Raises:
        ValueError: it refuses them, and keeps the old ones.

    """
    if isinstance(assembly.authorizer, StandardAuthorizer):
        assembly.authorizer.configure(settings.originals)
