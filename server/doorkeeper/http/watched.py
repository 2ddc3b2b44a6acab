"""Values that come from files, and come anew when the files change.

Whoever needs the value asks for it each time; a look at a file costs some microseconds. A change
that cannot be read is told once, and what was there before stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.logger import Logger

T = TypeVar("T")

Mark = tuple[tuple[int, int, int] | None, ...]


class Watched(Generic[T]):
    """A value made of files."""

    def __init__(self, make: Callable[[], T], logger: Logger, *paths: Path) -> None:
        """Make it for the first time.

        Raises:
            ValueError: it cannot be made; ``make`` raises that, or an OSError.

        """
        self._make = make
        self._logger = logger
        self._paths = paths
        self._mark = self._marked()
        try:
            self._value = make()
        except OSError as error:
            raise ValueError(_text(error)) from None

    def now(self) -> T:
        """Return what the files hold by now, or held when they were right."""
        mark = self._marked()
        if mark != self._mark:
            self._mark = mark
            self._tell(self._made())
        return self._value

    def _made(self) -> str | None:
        """Make the value anew; return why it could not be."""
        try:
            self._value = self._make()
        except (OSError, ValueError) as error:
            return _text(error)
        return None

    def _tell(self, problem: str | None) -> None:
        files = ", ".join(map(str, self._paths))
        if problem is None:
            self._logger.info("files read anew", files=files)
        else:
            self._logger.error("files not read anew", files=files, problem=problem)

    def _marked(self) -> Mark:
        return tuple(_mark(path) for path in self._paths)


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
