"""Errors that commands expect of what they use; ``Root`` reports them for all commands.

A command catches one itself where it knows more: a hint, another status, the way on.
"""

from __future__ import annotations

from doorkeeper.acls.formats.names import FormatError
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.learn.log_files import UnreadableLog
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.terminal import fail
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.state.store import StorageError


def report(error: Exception) -> None:
    """End the process with the lines of an expected error; return for any other."""
    if isinstance(error, (ConfigError, StartError, RepositoryError)):
        fail(error.problems)
    if isinstance(error, (FormatError, StorageError, UnreadableLog)):
        fail([error])
    if isinstance(error, OSError) and error.filename:
        # Also asking whether a file exists fails: in a folder that is closed to this user.
        fail([f"{error.filename}: {error.strerror}"])
