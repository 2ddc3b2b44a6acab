"""Keys from a file, loaded at the start and whenever the file changes.

Source: ``JwksFileVerificationKeyResolver`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.security.oauth.jwks import JWKS_BYTES_MAX, KeySet, parse

if TYPE_CHECKING:
    from pathlib import Path

Stamp = tuple[int, int, int]
"""Inode, size and modification time of a file."""


class FileKeys:
    """The keys of a file. Call ``start`` first."""

    __slots__ = ("_path", "_problem", "_reported", "_stamp", "keys")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: Stamp | None = None
        self._problem: str | None = None
        self._reported: str | None = None
        self.keys = KeySet(())

    async def start(self) -> None:
        """Load the keys.

        Raises:
            ValueError: the file is unreadable, or not a key set.
        """
        self._load()

    async def close(self) -> None:
        """Do nothing: there is no task to stop."""

    def refresh(self) -> str | None:
        """Reload a changed file; return a problem, but not the same one twice in a row."""
        self.fetch_newer()
        reported, self._reported = self._reported, self._problem
        return None if self._problem == reported else self._problem

    def fetch_newer(self) -> None:
        """Reload a changed file at once.

        An unchanged file is not read again, even a faulty one: unauthenticated clients can trigger
        this.
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
            # Before the read, so that a concurrent write counts as a change.
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
