"""The sets of ACLs of the console: read at the start in threads, kept with their index.

A set is read again when its file or its store has changed. The answer then is the one before the
change, unless reading takes no longer than a moment, and the page says so. A live cluster tells no
change: people read it again with a button.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.acls.addresses import Location, Reading, read_anew
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.files import files_in
from doorkeeper.cli.stores import settings_at
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.runtime.reloaded_files import Stamp, stamp_of
from doorkeeper.server.state.storage.files import DATABASE_NAME

QUICK_S: Final = 0.3
"""A set that took no longer is read again before the answer."""

PAST_MAX: Final = 4
"""The number of moments of the past that are kept."""

READERS: Final = 2

Version = tuple[tuple[Path, Stamp], ...]


class SetState(Struct):
    """A set: what was read, when, and whether it is being read."""

    address: Address
    name: str
    reading: Reading | None = None
    problems: tuple[str, ...] = ()
    read_at_s: float = 0.0
    took_s: float = 0.0
    version: Version | None = None
    is_reading: bool = True
    is_changed: bool = False
    """Whether it has changed since it was read, and the new one is being read."""

    @property
    def is_file(self) -> bool:
        """Say whether it is a file or a folder, which people write."""
        return self.address.kind is AddressKind.FILE

    @property
    def names_clusters(self) -> bool:
        """Say whether it is the configuration of a server, which may name clusters."""
        return self.address.kind is AddressKind.CONFIG


class Sets:
    """The sets by the names of their addresses, in the order of the command line."""

    def __init__(
        self,
        locations: Sequence[Location],
        *,
        read: Callable[[Location], Reading] = read_anew,
        clock: Callable[[], float] = time.time,  # noqa: TID251  the default of an argument
    ) -> None:
        """Take the locations; ``start`` begins to read them."""
        self._locations = {str(location.address): location for location in locations}
        self.states = {name: SetState(at.address, at.name) for name, at in self._locations.items()}
        self._read = read
        self.now_s = clock
        self._pool = ThreadPoolExecutor(READERS, "doorkeeper-console")
        self._lock = threading.Lock()
        self._read_past = lru_cache(PAST_MAX)(read)

    def start(self) -> None:
        """Read all sets in threads."""
        for state in self.states.values():
            self._pool.submit(self._load, state)

    def close(self) -> None:
        """Stop reading; threads that are busy end with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def fresh(self, name: str) -> SetState:
        """Return a set, which is read again if it has changed; KeyError for an unknown one."""
        state = self.states[name]
        if state.is_reading or state.address.is_live:
            return state
        if _version_of(state.address) != state.version:
            self.read_again(name)
        return state

    def read_again(self, name: str) -> None:
        """Read a set again: at once if that is quick, else in a thread."""
        state = self.states[name]
        with self._lock:
            if state.is_reading:
                return
            state.is_reading = True
        if state.took_s < QUICK_S and not state.address.is_live:
            self._load(state)
            return
        state.is_changed = not state.address.is_live
        self._pool.submit(self._load, state)

    def reading_of(self, location: Location) -> Reading:
        """Return the ACLs at a location; those of other addresses are read anew.

        Raises:
            RepositoryError: they cannot be read.
        """
        state = self.states.get(str(location.address))
        if state is None or location.others:
            return self._read(location)
        if location.at is not None:
            return self._read_past(location)
        if state.reading is None:
            raise RepositoryError(*state.problems)
        return state.reading

    def _load(self, state: SetState) -> None:
        location = self._locations[str(state.address)]
        begin_s = time.monotonic()
        try:
            # Before reading: a change in between is noticed.
            state.version = _version_of(state.address)
            reading = self._read(location)
            _ = reading.snapshot
            state.reading, state.problems = reading, ()
        except RepositoryError as error:
            state.problems, state.reading = tuple(map(str, error.problems)), None
        except Exception as error:
            state.problems, state.reading = (f"{state.name}: {error!r}",), None
        state.read_at_s, state.took_s = self.now_s(), time.monotonic() - begin_s
        state.is_changed = state.is_reading = False


def _version_of(address: Address) -> Version:
    """Return what changes with the files of a set; nothing where no file tells."""
    # A fault is told by whoever reads the set.
    with suppress(RepositoryError):
        return tuple((path, stamp_of(path)) for path in _files_of(address))
    return ()


def _files_of(address: Address) -> list[Path]:
    path = Path(address.target)
    match address.kind:
        case AddressKind.FILE if path.is_dir():
            return list(files_in(path))
        case AddressKind.FILE | AddressKind.BACKUP:
            return [path]
        case AddressKind.STORE:
            return _of_store(path)
        case AddressKind.CONFIG:
            # A fault in the file is told by whoever reads the set.
            with suppress(ConfigError):
                return [path, *_of_store(settings_at(address)[DATA_DIR])]
            return [path]
        case _:
            return []


def _of_store(folder: Path) -> list[Path]:
    return [folder / DATABASE_NAME, folder / f"{DATABASE_NAME}-wal"]
