"""Edits a users file: sets or deletes a user, and leaves every other line unchanged.

The new file replaces the old one atomically and durably: a server that reloads it sees one of them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from doorkeeper.server.security.password_records import record_of
from doorkeeper.server.security.users_file import is_user_name, lines_of

PRIVATE = 0o600


def user_names(path: Path) -> list[str]:
    """Return the names of a file's users, in its order."""
    return [name for line in lines_of(path) if (name := _name_in(line)) is not None]


def set_user(path: Path, name: str, password: str, salt: bytes) -> bool:
    """Set a user's password; return whether the user is new. Creates a missing file."""
    if not is_user_name(name):
        raise ValueError(
            f"found the name {name!r}; allowed: printable characters, no leading #, no"
            " surrounding whitespace"
        )
    if not password or "\0" in password:
        raise ValueError("found an empty password, or one with a NUL byte; PLAIN supports neither")
    lines = lines_of(path) if path.exists() else []
    line = f"{name}:{record_of(password, salt).text()}"
    places = [at for at, other in enumerate(lines) if _name_in(other) == name]
    for at in places:
        lines[at] = line
    if not places:
        lines.append(line)
    _write(path, lines)
    return not places


def delete_user(path: Path, name: str) -> None:
    lines = lines_of(path)
    others = [line for line in lines if _name_in(line) != name]
    if len(others) == len(lines):
        raise ValueError(f"{path}: no user {name!r}")
    _write(path, others)


def _name_in(line: str) -> str | None:
    if not line.strip() or line.startswith("#"):
        return None
    return line.rpartition(":")[0]


def _write(path: Path, lines: list[str]) -> None:
    """Replace a file and keep its mode; a new one is accessible to its owner only."""
    # In the same directory: a rename is atomic within one file system only.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ValueError(f"{path}: cannot write: {error.strerror}") from error
