"""Reload on SIGHUP: reloadable keys, those of the authorizer, and the clusters.

Everything is checked before any of it is used: with errors nothing changes, and each error is
logged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry
from doorkeeper.base.errors import AuthorizerFault
from doorkeeper.base.slices import Slices, run_in_turns
from doorkeeper.server.app.assembly import Assembly
from doorkeeper.server.app.clusters import Config, configs_of
from doorkeeper.server.app.config_check import without_duplicates
from doorkeeper.server.app.errors import StartError, locate
from doorkeeper.server.app.reconfiguration import Usable, changed_keys
from doorkeeper.server.config.keys import CLUSTERS_FILE
from doorkeeper.server.config.loading import load
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.operations.logs.pipeline import Logger
from doorkeeper.server.runtime.lean_structlog import structlog


async def reload(file: Path | None, overrides: Sequence[str], assembly: Assembly) -> None:
    """Load the configuration again, use it, and log the result.

    Wait for changes of keys by requests.
    """
    log: Logger = structlog.get_logger("doorkeeper.server")
    async with assembly.config_changes.turn:
        try:
            before = assembly.node.settings
            new, usable, clusters = await _read(file, overrides, assembly)
            assembly.reconfiguration.use(usable)
            assembly.record_settings()
            await assembly.security.refresh()
            if assembly.fleet is not None:
                await assembly.fleet.use(clusters)
            log.info("reloaded")
            _record(assembly, None)
            applies = assembly.reconfiguration.is_reloaded()
            changed = changed_keys(texts_of(before), texts_of(new))
            keys = [key for key in changed if not applies(key)]
            if keys:
                log.warning("changed keys that require a restart", keys=", ".join(keys))
        except StartError as error:
            _record(assembly, "; ".join(error.problems))
            await run_in_turns(_log_problems(log, error.problems), time.perf_counter)
        except AuthorizerFault as fault:
            _record(assembly, str(fault))
            log.exception("not reloaded", problem=str(fault), authorizer=fault.authorizer)


async def _read(
    file: Path | None, overrides: Sequence[str], assembly: Assembly
) -> tuple[Settings, Usable, Sequence[Config]]:
    """Load the whole configuration, and validate it with all parts.

    Return it as loaded and as usable, and the clusters.

    Raises:
        StartError: with every problem of keys, authorizer and clusters.
        AuthorizerFault: the authorizer fails to list its reconfigurable keys.
    """
    reconfiguration = assembly.reconfiguration
    problems: list[str] = []
    new = merged = usable = None
    clusters: Sequence[Config] = ()
    entries: Sequence[Entry] = ()
    try:
        new = load(file, overrides).settings
        merged = reconfiguration.merge(new)
        entries = merged.entries
    except ConfigError as error:
        problems += map(str, error.problems)
        if error.entries:
            dynamic = reconfiguration.settings.dynamic.entries()
            entries = (*reconfiguration.entries_with(error.entries), *dynamic)
    others: list[str] = []
    try:
        if entries:
            reconfiguration.check_authorizer({entry.key: entry.value for entry in entries})
    except ValueError as error:
        others.append(locate(entries, error))
    try:
        if merged is not None:
            usable = await reconfiguration.usable(merged)
    except ValueError as error:
        others.append(locate(entries, error))
    except StartError as error:
        others += [locate(entries, problem) for problem in error.problems]
    problems += without_duplicates(others, problems)
    try:
        # The file in use: another path needs a restart.
        clusters = configs_of(reconfiguration.settings[CLUSTERS_FILE])
    except StartError as error:
        problems += error.problems
    if problems or new is None or usable is None:
        raise StartError(*problems)
    return new, usable, clusters


def _log_problems(log: Logger, problems: Sequence[str]) -> Slices[None]:
    """Log each problem in a slice of its own: a large file may have one for each line."""
    for problem in problems:
        log.error("not reloaded", problem=problem)
        yield


def _record(assembly: Assembly, problem: str | None) -> None:
    assembly.reloads.record_reload(applied=problem is None)
    if assembly.audit_log is not None:
        assembly.audit_log.record_reload(problem)


def texts_of(settings: Settings) -> dict[str, str]:
    """Return the texts of the file and the overrides."""
    return {entry.key: entry.value for entry in settings.static}
