"""Names and passwords from files of salted hashes, which ``doorkeeper users-file`` writes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from starlette.concurrency import run_in_threadpool

from doorkeeper.console.login.oidc import Refused
from doorkeeper.console.login.sessions import Role
from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.security.password_records import PasswordRecord
from doorkeeper.server.security.users_file import users_file

FAILURES_MAX: Final = 10
"""Wrong passwords of a peer in ``FAILURES_S``; then it waits."""

FAILURES_S: Final = 60.0

PEERS_MAX: Final = 10_000

CHECKS_MAX: Final = 2
"""Passwords that are hashed at a time: each needs 16 MiB or more, and a processor."""


class User(NamedTuple):
    """Who has logged in: the role, and the record of the password."""

    role: Role
    record: PasswordRecord | None


class UsersLogin:
    """The users of each role. A changed file counts at once; with a fault in it the users stay.

    Bounded are the wrong passwords of a peer in a minute and the hashes at a time, for which peers
    take turns.
    """

    def __init__(
        self,
        files: Mapping[Role, Path],
        logger: Logger,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the files.

        Raises:
            ValueError: one cannot be read, or has no user.
        """
        self._files = {role: users_file(file, logger) for role, file in files.items()}
        for role, file in files.items():
            if not len(self._files[role].value):
                raise ValueError(
                    f"{file}: has no user; doorkeeper users-file set-password adds one"
                )
        self._now_s = now_s
        self._turns = FairSemaphore(CHECKS_MAX)
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    async def log_in(self, peer: str, name: str, password: str) -> User | None:
        """Return a user; None for a wrong name or password. For the thread of the loop.

        Raises:
            Refused: the peer has to wait.
        """
        self._recent_of(peer)
        async with self._turns.slot(peer):
            # Again, and noted before the check: requests at once would pass together.
            recent, at_s = self._recent_of(peer), self._now_s()
            self._failed[peer] = [*recent, at_s]
            self._failed.move_to_end(peer)
            if len(self._failed) > PEERS_MAX:
                self._failed.popitem(last=False)
            user = await run_in_threadpool(self.user_of, name, password)
            if user is not None and at_s in self._failed.get(peer, ()):
                self._failed[peer].remove(at_s)
        return user

    def _recent_of(self, peer: str) -> list[float]:
        now_s = self._now_s()
        recent = [at_s for at_s in self._failed.get(peer, ()) if now_s - at_s < FAILURES_S]
        if len(recent) >= FAILURES_MAX:
            raise Refused("too many wrong passwords; wait a minute")
        return recent

    def user_of(self, name: str, password: str) -> User | None:
        """Return a user, with the higher one of two roles; None for a wrong name or password.

        It takes tens of milliseconds, for an unknown name too.
        """
        # All are compared: the time does not depend on which file has the user.
        known = {role: file.current() for role, file in self._files.items()}
        users_by_role = {
            role: User(role, users.record(name))
            for role, users in known.items()
            if users.check(name, password)
        }
        return users_by_role.get(Role.OPERATOR) or users_by_role.get(Role.VIEWER)

    def has(self, name: str, user: User) -> bool:
        """Say whether the user still has the role and the password. O(1) while no file changes."""
        return self._files[user.role].current().record(name) == user.record
