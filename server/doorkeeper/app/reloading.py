"""What SIGHUP changes: the keys that say so, those of the authorizer, the catalog.

All of it is checked before any of it is used: a file with an error leaves everything as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from doorkeeper.app.catalogs import catalog_of
from doorkeeper.app.errors import StartError
from doorkeeper.app.reconfiguring import changed_keys
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.app.assembly import Assembly
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger


def reload(file: Path | None, overrides: Sequence[str], assembly: Assembly) -> None:
    """Read the configuration again, use what can be used, and log what came of it."""
    log: Logger = structlog.get_logger("doorkeeper.server")
    if assembly.config_changes.busy:
        _tell(log, "keys are being changed over the wire; send the signal again")
        return
    try:
        new = load(file, overrides).settings
        settings = assembly.reconfiguring.merged(new)
        catalog = catalog_of(settings.catalog_file)
        assembly.reconfiguring.check(settings)
        before = assembly.node.settings
        assembly.reconfiguring.use(settings)
    except (ConfigError, StartError) as error:
        for problem in error.problems:
            _tell(log, problem)
        return
    except ValueError as error:
        _tell(log, error)
        return
    except Exception as error:  # noqa: BLE001  a plug-in raises what it likes
        _tell(log, f"{type(error).__name__}: {error}")
        return
    node = assembly.node
    assembly.topic_changes.declare(() if catalog is None else catalog.declared(node.cluster_id))
    node.groups = {} if catalog is None else catalog.groups
    log.info("reloaded")
    needing_restart = [
        key
        for key in changed_keys(texts_of(before), texts_of(new))
        if not assembly.reconfiguring.is_reloaded(key)
    ]
    if needing_restart:
        log.warning("changed keys that need a restart", keys=", ".join(needing_restart))


def _tell(log: Logger, problem: object) -> None:
    log.error("not reloaded", problem=str(problem))


def texts_of(settings: Settings) -> dict[str, str]:
    """Return what the file and the overrides give."""
    return {entry.key: entry.value for entry in settings.given}
