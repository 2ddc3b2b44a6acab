"""The users file of PLAIN: ``name:record`` on each line; ``#`` begins a comment line.

    # written by: doorkeeper users-file set-password users.txt alice
    alice:$scrypt$ln=14,r=8,p=1$JyDDJf7Gqn7wQrYXlwHEaw$kXxIsbq3CPYbW...

Checking a record takes tens of milliseconds by design. A correct password is cached as a digest
under a key of this process, until the file changes: later logins cost nothing, and do not queue
behind attempts with wrong passwords.

A command sets or deletes a user, and leaves every other line unchanged. The new file replaces the
old one atomically and durably: a server that reloads it sees one of them.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from doorkeeper.base.secret_files import read_secrets
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.password_records import (
    BLOCK_SIZE,
    COST_LOGARITHM,
    SALT_BYTES,
    PasswordRecord,
    UnusableRecord,
    as_bytes,
    parse,
    record_of,
)

PROBLEMS_MAX = 10
"""The number of faulty lines that an error text lists."""

FILE_BYTES_MAX = 64 << 20
"""Far more than all users of a cluster; a larger file was named by mistake."""


class HashedUsers:
    """The users of one version of a file."""

    __slots__ = ("_key", "_records", "_unknown", "_verified")

    def __init__(self, records: Mapping[str, PasswordRecord]) -> None:
        self._records = records
        self._unknown = _record_for_unknown(records.values())
        self._key = os.urandom(32)
        self._verified: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._records)} users)"

    def __len__(self) -> int:
        return len(self._records)

    def record(self, name: str) -> PasswordRecord | None:
        """Return the record of a user, which changes with the password; None if there is none."""
        return self._records.get(name)

    def was_verified(self, name: str, password: str) -> bool:
        """Return whether this password was verified before; False is no verdict."""
        known = self._verified.get(name)
        return known is not None and hmac.compare_digest(known, self._digest(password))

    def check(self, name: str, password: str) -> bool:
        """Return whether it is the user's password. Slow, and equally slow for an unknown name."""
        return self._records.get(name, self._unknown).matches(as_bytes(password))

    def cache_verified(self, name: str, password: str) -> None:
        """Cache a verified password.

        Wrong ones are not cached: attackers have any number of them.
        """
        self._verified[name] = self._digest(password)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, as_bytes(password), "sha256")


def users_file(path: Path, logger: Logger) -> ReloadedFiles[HashedUsers]:
    return ReloadedFiles(lambda: HashedUsers(read(path)), logger, path)


def read(path: Path) -> dict[str, PasswordRecord]:
    """Return the records of a file by name."""
    records: dict[str, PasswordRecord] = {}
    problems = []
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        # The last colon: a name may contain one, a record cannot.
        name, _, text = line.rpartition(":")
        try:
            records[_new(name, records)] = parse(text.strip())
        except UnusableRecord as error:
            problems.append(f"{path} line {number}: {error}")
    if problems:
        more = len(problems) - PROBLEMS_MAX
        listed = problems[:PROBLEMS_MAX] + ([f"and {more} more"] if more > 0 else [])
        raise ValueError("; ".join(listed))
    return records


def lines_of(path: Path) -> list[str]:
    try:
        return read_secrets(path, FILE_BYTES_MAX).splitlines()
    except OSError as error:
        raise ValueError(f"{path}: cannot read: {error.strerror}") from error


def is_user_name(name: str) -> bool:
    """Return whether a file can hold a user of this name."""
    return name.isprintable() and name == name.strip() and name[:1] not in ("", "#")


def _new(name: str, records: Mapping[str, PasswordRecord]) -> str:
    if not is_user_name(name):
        raise UnusableRecord("expected name:hash, without whitespace around the name")
    if name in records:
        raise UnusableRecord("duplicate user")
    return name


def _record_for_unknown(records: Iterable[PasswordRecord]) -> PasswordRecord:
    """Return the record checked for an unknown name: of the most frequent cost in the file."""
    costs = Counter(replace(record, salt=b"", hash=b"") for record in records)
    if not costs:
        return PasswordRecord("", 1 << COST_LOGARITHM, BLOCK_SIZE, 1, bytes(SALT_BYTES), b"")
    ((usual, _),) = costs.most_common(1)
    return replace(usual, salt=bytes(SALT_BYTES))


# --- changes of the file

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
    """Replace a file and keep its mode and owner; a new one is accessible to its owner only."""
    # The file behind a link: the server may know it by its own name.
    path = Path(os.path.realpath(path))
    # In the same directory: a rename is atomic within one file system only.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        before = path.stat() if path.exists() else None
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            if before is not None:
                # A file of root's would be closed to the server; others may not give theirs away.
                with suppress(PermissionError):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ValueError(f"{path}: cannot write: {error.strerror}") from error
