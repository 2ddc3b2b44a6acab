"""Names and passwords from files of salted hashes, which ``doorkeeper users-file`` writes."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Final

from msgspec import Struct

from doorkeeper.console.login.sessions import Role
from doorkeeper.server.security.users_file import HashedUsers, read

FAILURES_MAX: Final = 10
"""Wrong passwords of a host in ``FAILURES_S``; then it waits."""

FAILURES_S: Final = 60.0

HOSTS_MAX: Final = 10_000


class UsersLogin(Struct, frozen=True):
    """The users of each role. The files are read at each login: a new password counts at once."""

    files: dict[Role, Path]

    def check(self) -> None:
        """Read the files.

        Raises:
            ValueError: one cannot be read.
        """
        for file in self.files.values():
            if not read(file):
                raise ValueError(
                    f"{file}: has no user; doorkeeper users-file set-password adds one"
                )

    def role_of(self, name: str, password: str) -> Role | None:
        """Return the role of a user, the higher one of two; None for a wrong name or password.

        It takes tens of milliseconds, for an unknown name too.

        Raises:
            ValueError: a file cannot be read.
        """
        # All are compared: the time does not depend on which file has the user.
        found = {role: HashedUsers(read(file)) for role, file in self.files.items()}
        roles = [role for role, users in found.items() if users.check(name, password)]
        return Role.OPERATOR if Role.OPERATOR in roles else next(iter(roles), None)


class Failures:
    """The wrong passwords of each host in the last minute."""

    def __init__(self) -> None:
        """Begin without failures."""
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    def must_wait(self, host: str, now_s: float) -> bool:
        """Say whether a host has to wait before it tries again."""
        recent = [at for at in self._failed.get(host, ()) if now_s - at < FAILURES_S]
        return len(recent) >= FAILURES_MAX

    def add(self, host: str, now_s: float) -> None:
        """Note a wrong password."""
        recent = [at for at in self._failed.pop(host, ()) if now_s - at < FAILURES_S]
        self._failed[host] = [*recent, now_s]
        while len(self._failed) > HOSTS_MAX:
            self._failed.popitem(last=False)
