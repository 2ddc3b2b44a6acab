"""Values made from files, which are read again when the files change.

Each use checks the files, which costs some microseconds. A file that becomes invalid is logged
once, and the last valid value stays in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.runtime.logger import Logger

T = TypeVar("T")

FileStamps = tuple[tuple[int, int, int] | None, ...]
"""Modification time in ns, size and inode of each file; None for one that cannot be read."""


class FileValue(Generic[T]):
    """A value that is loaded from files."""

    def __init__(self, make: Callable[[], T], logger: Logger, *paths: Path) -> None:
        """Make the value for the first time.

        Raises:
            ValueError: it cannot be made; ``make`` raises that, or an OSError.
        """
        self._make = make
        self._logger = logger
        self._paths = paths
        self._stamps = self._file_stamps()
        try:
            self._value = make()
        except OSError as error:
            raise ValueError(_text(error)) from None

    def now(self) -> T:
        """Return the value of the current files, or the last valid one."""
        stamps = self._file_stamps()
        if stamps != self._stamps:
            # Before the reload: a file that stays invalid is logged once, not at each use.
            self._stamps = stamps
            self._log_reload(self._reload())
        return self._value

    def _reload(self) -> str | None:
        """Make the value again; return the reason if that fails."""
        try:
            self._value = self._make()
        except (OSError, ValueError) as error:
            return _text(error)
        return None

    def _log_reload(self, problem: str | None) -> None:
        files = ", ".join(map(str, self._paths))
        if problem is None:
            self._logger.info("files reloaded", files=files)
        else:
            self._logger.error(
                "files not reloaded: the previous values stay in use", files=files, problem=problem
            )

    def _file_stamps(self) -> FileStamps:
        return tuple(_stamp_of(path) for path in self._paths)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # The inode changes when a file is replaced by rename within the clock's resolution.
    return status.st_mtime_ns, status.st_size, status.st_ino


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
