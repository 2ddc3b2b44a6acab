"""Keys from a file, loaded at the start and whenever the file changes.

Source: ``JwksFileVerificationKeyResolver`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from pathlib import Path

from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.oauth.jwks import JWKS_BYTES_MAX, KeySet, parse


class FileKeys:
    """The keys of a file. Call ``start`` first."""

    __slots__ = ("_file", "_logger", "_path")

    def __init__(self, path: Path, logger: Logger) -> None:
        self._path = path
        self._logger = logger
        self._file: ReloadedFiles[KeySet] | None = None

    @property
    def keys(self) -> KeySet:
        return KeySet(()) if self._file is None else self._file.value

    async def start(self) -> None:
        self._file = ReloadedFiles(self._load, self._logger, self._path)

    async def close(self) -> None:
        """Do nothing: there is no task to stop."""

    def refresh(self) -> None:
        """Reload a changed file, also when a token names an unknown key."""
        assert self._file is not None, "started before"
        self._file.refresh()

    fetch_newer = refresh

    def _load(self) -> KeySet:
        with self._path.open("rb") as file:
            data = file.read(JWKS_BYTES_MAX + 1)
        try:
            return parse(data)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None
