"""The users file of PLAIN: ``name:record`` on each line; ``#`` begins a comment line.

    # written by: doorkeeper users-file set-password users.txt alice
    alice:$scrypt$ln=14,r=8,p=1$JyDDJf7Gqn7wQrYXlwHEaw$kXxIsbq3CPYbW...

Checking a record takes tens of milliseconds by design. A correct password is cached as a digest
under a key of this process, until the file changes: later logins cost nothing, and do not queue
behind attempts with wrong passwords.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from doorkeeper.base.encodings import not_utf8
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
)

PROBLEMS_MAX = 10
"""The number of faulty lines that an error text lists."""


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
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ValueError(f"{path}: cannot read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {not_utf8(error)}") from None


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
