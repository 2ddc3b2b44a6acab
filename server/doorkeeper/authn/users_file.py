"""The users of PLAIN in a file: ``name:record``, one a line; ``#`` begins a comment.

    # written by: doorkeeper users-file set users.txt alice
    alice:$scrypt$ln=14,r=8,p=1$JyDDJf7Gqn7wQrYXlwHEaw$kXxIsbq3CPYbW...

Checking a record takes tens of milliseconds by intent. A password that was right is remembered as
a digest under a key of this process, until the file changes: who logs in again costs nothing, and
does not stand behind those who try passwords.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from typing import TYPE_CHECKING

from doorkeeper.authn.password_records import (
    BLOCK_SIZE,
    COST_LOGARITHM,
    SALT_BYTES,
    PasswordRecord,
    UnusableRecord,
    as_bytes,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PROBLEMS_MAX = 10
"""How many wrong lines of a file are told."""


class HashedUsers:
    """The users of one version of a file."""

    __slots__ = ("_key", "_nobody", "_records", "_right")

    def __init__(self, records: Mapping[str, PasswordRecord]) -> None:
        """Begin with nobody remembered."""
        self._records = records
        self._nobody = _record_of_nobody(records.values())
        self._key = os.urandom(32)
        self._right: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._records)} users)"

    def __len__(self) -> int:
        return len(self._records)

    def remembers(self, name: str, password: str) -> bool:
        """Say whether this password was right before; False says nothing yet."""
        known = self._right.get(name)
        return known is not None and hmac.compare_digest(known, self._digest(password))

    def check(self, name: str, password: str) -> bool:
        """Say whether it is the user's password. Slow, as slow for a name that nobody has."""
        return self._records.get(name, self._nobody).is_of(as_bytes(password))

    def remember(self, name: str, password: str) -> None:
        """Note that a password was right."""
        self._right[name] = self._digest(password)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, as_bytes(password), "sha256")


class UsersFile:
    """A file of users, as it was when it was last right."""

    __slots__ = ("_seen", "path", "users")

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            ValueError: it cannot be read, or lines of it are wrong; one text for all.

        """
        self.path = path
        self._seen = _version_of(path)
        self.users = HashedUsers(read(path))

    def refresh(self) -> Sequence[str]:
        """Read it again where it has changed; return what is wrong with it, the users then stay."""
        version = _version_of(self.path)
        if version == self._seen:
            return ()
        self._seen = version
        try:
            self.users = HashedUsers(read(self.path))
        except ValueError as error:
            return (f"the users stay as they were: {error}",)
        return ()


def read(path: Path) -> dict[str, PasswordRecord]:
    """Return the records of a file by name.

    Raises:
        ValueError: it cannot be read, or lines of it are wrong; the text holds none of them.

    """
    records: dict[str, PasswordRecord] = {}
    problems = []
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, text = line.rpartition(":")
        try:
            records[_new(name, records)] = parse(text.strip())
        except UnusableRecord as error:
            problems.append(f"{path} line {number}: {error}")
    if problems:
        more = len(problems) - PROBLEMS_MAX
        told = problems[:PROBLEMS_MAX] + ([f"and {more} more"] if more > 0 else [])
        raise ValueError("; ".join(told))
    return records


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file.

    Raises:
        ValueError: it cannot be read.

    """
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}") from None


def is_user_name(name: str) -> bool:
    """Say whether a file can hold a user of this name."""
    return name.isprintable() and name == name.strip() and name[:1] not in ("", "#")


def _new(name: str, records: Mapping[str, PasswordRecord]) -> str:
    if not is_user_name(name):
        raise UnusableRecord("no user's name before the last colon, without blanks around it")
    if name in records:
        raise UnusableRecord("this user has a line already")
    return name


def _record_of_nobody(records: Iterable[PasswordRecord]) -> PasswordRecord:
    """Return what is checked for an unknown name: as dear as most of the others."""
    costs = Counter(record._replace(salt=b"", hash=b"") for record in records)
    if not costs:
        return PasswordRecord("", 1 << COST_LOGARITHM, BLOCK_SIZE, 1, bytes(SALT_BYTES), b"")
    ((usual, _),) = costs.most_common(1)
    return usual._replace(salt=bytes(SALT_BYTES))


def _version_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
