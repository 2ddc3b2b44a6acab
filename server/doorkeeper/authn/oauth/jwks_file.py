"""Keys in a file: loaded at the start, and again when the file changes.

Source: ``JwksFileVerificationKeyResolver`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.authn.oauth.jwks import JWKS_BYTES_MAX, KeySet, parse

if TYPE_CHECKING:
    from pathlib import Path

Stamp = tuple[int, int, int]
"""What changes with a file: its inode, its size and its time."""


class FileKeys:
    """The keys of a file. ``start`` comes first."""

    __slots__ = ("_path", "_problem", "_stamp", "_told", "keys")

    def __init__(self, path: Path) -> None:
        """Look at this file."""
        self._path = path
        self._stamp: Stamp | None = None
        self._problem: str | None = None
        self._told: str | None = None
        self.keys = KeySet(())

    async def start(self) -> None:
        """Take the keys of the file.

        Raises:
            ValueError: it cannot be read, or is no set of keys.

        """
        self._load()

    async def close(self) -> None:
        """Nothing runs."""

    def refresh(self) -> str | None:
        """Take the keys of a file that has changed; return what is wrong, but not twice."""
        self.look_again()
        told, self._told = self._told, self._problem
        return None if self._problem == told else self._problem

    def look_again(self) -> None:
        """Take a file that has just changed; there is nothing to wait for.

        One that has not is not read again, however wrong it is: strangers can ask for this.
        """
        try:
            if self._stamp_now() != self._stamp:
                self._load()
                self._problem = None
        except OSError as error:
            self._stamp, self._problem = None, f"{self._path}: {error.strerror}"
        except ValueError as error:
            self._problem = str(error)

    def _load(self) -> None:
        try:
            # First, so that what is written meanwhile is seen as a change.
            stamp = self._stamp_now()
            with self._path.open("rb") as file:
                data = file.read(JWKS_BYTES_MAX + 1)
        except OSError as error:
            raise ValueError(f"{self._path}: {error.strerror}") from None
        self._stamp = stamp
        try:
            self.keys = parse(data)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None

    def _stamp_now(self) -> Stamp:
        found = self._path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
