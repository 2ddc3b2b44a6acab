"""A value made from files, which is made again when one of them changes.

Each check costs some microseconds a file. A version of the files that cannot be used is reported
once, and is not read again: clients that have not authenticated may cause the checks. It is where
only descriptors or memory were lacking: a certificate or a password would stay for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EMFILE, ENFILE, ENOMEM
from pathlib import Path
from typing import Generic, TypeVar

from doorkeeper.server.runtime.logger import Logger

T = TypeVar("T")

Stamp = tuple[int, int, int] | None
"""Time of the last change in ns, size and inode; None for a file that cannot be reached."""


class ReloadedFiles(Generic[T]):
    """The value of the last usable version of the files, in ``value``.

    ``refresh`` may run in any thread; two at a time may both read the same change.
    """

    __slots__ = ("_logger", "_make", "_paths", "_stamps", "value")

    def __init__(self, make: Callable[[], T], logger: Logger, *paths: Path) -> None:
        """Make the value for the first time.

        Raises:
            ValueError: it cannot be made; ``make`` raises that, or an OSError.
        """
        self._make = make
        self._logger = logger
        self._paths = paths
        # Before the files are read: a write during that counts as a change.
        self._stamps = tuple(map(stamp_of, paths))
        self.value = self._made()

    def refresh(self) -> None:
        """Make the value again if a file has changed, and log the result.

        With a fault in the new files the value stays.
        """
        stamps = tuple(map(stamp_of, self._paths))
        if stamps == self._stamps:
            return
        is_retry, self._stamps = not self._stamps, stamps
        files, problem, passing = ", ".join(map(str, self._paths)), None, False
        try:
            self.value = self._made()
        except ValueError as error:
            problem = str(error)
            if passing := _is_passing(error):
                self._stamps = ()
        if problem is None:
            self._logger.info("files reloaded", files=files)
        elif not (passing and is_retry):
            self._logger.error(
                "files not reloaded: the previous values stay in use", files=files, problem=problem
            )

    def current(self) -> T:
        """Refresh, and return the value."""
        self.refresh()
        return self.value

    def _made(self) -> T:
        try:
            return self._make()
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            raise ValueError(f"{named}{error.strerror or error}") from None


def _is_passing(error: BaseException | None) -> bool:
    """Return whether the files are not at fault; the error may be hidden by another one."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (EMFILE, ENFILE, ENOMEM):
            return True
        error = error.__context__
    return False


def stamp_of(path: Path) -> Stamp:
    """Return what changes with a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    # Not the time of modification: it stays when permissions change, and tools that copy set it.
    # The inode changes when a file is replaced by rename within the clock's resolution.
    return status.st_ctime_ns, status.st_size, status.st_ino
