"""Reload on SIGHUP: reloadable keys, those of the authorizer, and the catalog.

Everything is checked before any of it is used: with errors nothing changes, and each error is
logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from doorkeeper.app.authorizer import placed
from doorkeeper.app.catalogs import declared_again
from doorkeeper.app.config_check import catalog_file_of, unsaid
from doorkeeper.app.errors import StartError
from doorkeeper.app.reconfiguration import changed_keys
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load
from doorkeeper.errors import AuthorizerFault
from doorkeeper.runtime.turns import run_in_turns
from doorkeeper.topics.table import let_go

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.app.assembly import Assembly
    from doorkeeper.app.catalogs import Declared
    from doorkeeper.app.reconfiguration import Reconfiguring, Usable
    from doorkeeper.config.entry import Entry
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.runtime.slices import Slices


async def reload(file: Path | None, overrides: Sequence[str], assembly: Assembly) -> None:
    """Load the configuration again, use it, and log the result.

    Wait for changes of keys by requests.
    """
    log: Logger = structlog.get_logger("doorkeeper.server")
    async with assembly.config_changes.turn:
        try:
            before = assembly.node.settings
            read = await _read(file, overrides, assembly)
            assembly.reconfiguring.use(read.usable)
            # A list, so that let_go() can drop the last reference in slices: freeing a million
            # topics at once would stop the loop.
            old = [assembly.declared.topics]
            _declare(read.declared, assembly)
            await assembly.doors.refresh()
            assembly.reloads.record_reload(applied=True)
            log.info("reloaded")
            _record(assembly, None)
            _tell_needing_restart(before, read.new, assembly.reconfiguring, log)
            if old[0] is not read.declared.topics:
                await run_in_turns(let_go(old))
        except StartError as error:
            assembly.reloads.record_reload(applied=False)
            _record(assembly, "; ".join(error.problems))
            await run_in_turns(_told(log, error.problems))
        except AuthorizerFault as fault:
            assembly.reloads.record_reload(applied=False)
            _record(assembly, str(fault))
            log.exception("not reloaded", problem=str(fault), authorizer=fault.authorizer)


class _Read(NamedTuple):
    """A configuration that all parts accepted: as loaded, and as usable."""

    new: Settings
    usable: Usable
    declared: Declared


async def _read(file: Path | None, overrides: Sequence[str], assembly: Assembly) -> _Read:
    """Load the whole configuration, and validate it with all parts.

    Raises:
        StartError: with every problem of keys, authorizer and catalog.
        AuthorizerFault: the authorizer fails to list its reconfigurable keys.

    """
    reconfiguring = assembly.reconfiguring
    problems: list[str] = []
    new = merged = declared = None
    entries: Sequence[Entry] = ()
    try:
        new = load(file, overrides).settings
        merged = reconfiguring.merged(new)
        entries = merged.entries
    except ConfigError as error:
        problems += map(str, error.problems)
        if error.entries:
            dynamic = reconfiguring.settings.dynamic.entries()
            entries = (*reconfiguring.entries_with(error.entries), *dynamic)
    others: list[str] = []
    of_catalog: Sequence[str] = ()
    usable: Usable | None = None
    try:
        if entries:
            reconfiguring.check_authorizer({each.key: each.value for each in entries})
    except ValueError as error:
        others.append(placed(entries, error))
    try:
        if merged is not None:
            usable = await reconfiguring.usable(merged)
    except ValueError as error:
        others.append(placed(entries, error))
    except StartError as error:
        others += [placed(entries, ValueError(each)) for each in error.problems]
    try:
        named = catalog_file_of(entries)
        declared = await declared_again(named, assembly.declared, assembly.node.cluster_id)
    except StartError as error:
        of_catalog = error.problems
    problems += (*unsaid(others, problems), *of_catalog)
    if problems or new is None or usable is None or declared is None:
        raise StartError(*problems)
    return _Read(new, usable, declared)


def _declare(declared: Declared, assembly: Assembly) -> None:
    assembly.declared = declared
    assembly.log.declare(declared.topics)
    assembly.log.amend(groups=declared.groups)


def _tell_needing_restart(
    before: Settings, new: Settings, reconfiguring: Reconfiguring, log: Logger
) -> None:
    keys = [
        key
        for key in changed_keys(texts_of(before), texts_of(new))
        if not reconfiguring.is_reloaded(key)
    ]
    if keys:
        log.warning("changed keys that need a restart", keys=", ".join(keys))


def _told(log: Logger, problems: Sequence[str]) -> Slices[None]:
    """Log each problem in a slice of its own: a large catalog may have one for each topic."""
    for problem in problems:
        log.error("not reloaded", problem=problem)
        yield


def _record(assembly: Assembly, problem: str | None) -> None:
    if assembly.trail is not None:
        assembly.trail.reloaded(problem)


def texts_of(settings: Settings) -> dict[str, str]:
    """Return the texts of the file and the overrides."""
    return {entry.key: entry.value for entry in settings.given}
