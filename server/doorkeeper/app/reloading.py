"""What SIGHUP changes: the keys that say so, those of the authorizer, the catalog.

All of it is checked before any of it is used: a file with errors leaves everything as it was, and
each of them is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from doorkeeper.app.authorizing import placed
from doorkeeper.app.catalogs import catalog_of
from doorkeeper.app.checking import catalog_file_of, unsaid
from doorkeeper.app.errors import StartError
from doorkeeper.app.reconfiguring import changed_keys
from doorkeeper.app.threads import beside
from doorkeeper.app.turns import in_turns
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load
from doorkeeper.errors import AuthorizerFault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.app.assembly import Assembly
    from doorkeeper.app.reconfiguring import Reconfiguring, Usable
    from doorkeeper.catalog.loading import Catalog
    from doorkeeper.config.properties import Entry
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.topics import Layer


async def reload(file: Path | None, overrides: Sequence[str], assembly: Assembly) -> None:
    """Read the configuration again, use what can be used, and log what came of it.

    It waits until keys that are being changed over the wire are.
    """
    log: Logger = structlog.get_logger("doorkeeper.server")
    async with assembly.config_changes.turn:
        try:
            before = assembly.node.settings
            read = await _read(file, overrides, assembly.reconfiguring)
            declared = await _declared(read.catalog, assembly)
            assembly.reconfiguring.use(read.usable)
            assembly.topic_changes.declare(declared)
            assembly.node.use_groups({} if read.catalog is None else read.catalog.groups)
            await assembly.doors.refresh()
            assembly.reloads.reloaded(applied=True)
            log.info("reloaded")
            _record(assembly, None)
            _tell_needing_restart(before, read.new, assembly.reconfiguring, log)
        except StartError as error:
            assembly.reloads.reloaded(applied=False)
            for problem in error.problems:
                _tell(log, problem)
            _record(assembly, "; ".join(error.problems))
        except AuthorizerFault as fault:
            assembly.reloads.reloaded(applied=False)
            _record(assembly, str(fault))
            log.exception("not reloaded", problem=str(fault), authorizer=fault.authorizer)


class _Read(NamedTuple):
    """A configuration that everybody has accepted: as it is read, and as it can be used."""

    new: Settings
    usable: Usable
    catalog: Catalog | None


async def _read(file: Path | None, overrides: Sequence[str], reconfiguring: Reconfiguring) -> _Read:
    """Read all that the configuration is, and ask everybody who may refuse.

    Raises:
        StartError: every problem of keys, authorizer and catalog.
        AuthorizerFault: the authorizer does not say which keys it takes.

    """
    problems: list[str] = []
    new = merged = catalog = None
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
        catalog = await beside(lambda: catalog_of(named), "doorkeeper-catalog")
    except StartError as error:
        others += error.problems
    problems += unsaid(others, problems)
    if problems or new is None or usable is None:
        raise StartError(*problems)
    return _Read(new, usable, catalog)


async def _declared(catalog: Catalog | None, assembly: Assembly) -> Layer:
    """Return the topics of a catalog, made while others are served; nobody sees them yet."""
    before = assembly.topic_changes.topics.declared
    topics = () if catalog is None else catalog.declared(assembly.node.cluster_id)
    return await in_turns(before.replaced(topics))


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


def _tell(log: Logger, problem: object) -> None:
    log.error("not reloaded", problem=str(problem))


def _record(assembly: Assembly, problem: str | None) -> None:
    if assembly.trail is not None:
        assembly.trail.reloaded(problem)


def texts_of(settings: Settings) -> dict[str, str]:
    """Return what the file and the overrides give."""
    return {entry.key: entry.value for entry in settings.given}
