"""A server in a process of its own, of keys that a test hands it in memory."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

from doorkeeper.app import process
from doorkeeper.app.checking import with_others
from doorkeeper.app.errors import StartError
from doorkeeper.app.threads import leave_threads_behind
from doorkeeper.catalog.errors import CatalogError
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import loaded_of
from doorkeeper.storage.contract import StorageError
from doorkeeper.storage.embedded import EmbeddedStore
from doorkeeper.storage.writing_once import write_once
from doorkeeper.testing.configuration import credentials_of, initial_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from doorkeeper.testing.configuration import Configuration

_FAILED: Final = 1
_NS_PER_MS: Final = 1_000_000


def serve(keys: Mapping[str, str], data: Path, beginning: Configuration | None) -> None:
    """Be ``doorkeeper serve`` until the process ends; first put what it begins with in its store.

    Raises:
        SystemExit: it was told to end, or does not start: why is on stderr, a line each.

    """
    # Until the server takes it, the signal must not end the process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    status = 0
    try:
        if beginning is not None:
            _fill(data, beginning)
        overrides = [f"{key}={value}" for key, value in keys.items()]
        process.serve(None, overrides, loaded_of(keys, "the test's"))
    except ConfigError as error:
        status = _fail(with_others(error))
    except (CatalogError, StartError) as error:
        status = _fail(error.problems)
    except StorageError as error:
        status = _fail([error])
    leave_threads_behind(status)
    sys.exit(status)


def _fill(data: Path, beginning: Configuration) -> None:
    change = initial_change(beginning, credentials_of(beginning))
    if not change:
        return
    store = EmbeddedStore.open(
        data, now_ms=lambda: time.time_ns() // _NS_PER_MS, random_bytes=os.urandom
    )
    try:
        write_once(store, change)
    finally:
        store.close()


def _fail(problems: Iterable[object]) -> int:
    sys.stderr.writelines(f"doorkeeper: {problem}\n" for problem in problems)
    return _FAILED
