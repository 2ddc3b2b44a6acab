"""Names and passwords from files of salted hashes, which ``doorkeeper users-file`` writes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import IPv6Network
from pathlib import Path
from typing import Final, NamedTuple

from starlette.concurrency import run_in_threadpool

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

TURN_S: Final = 10.0
"""How long a login waits for its turn."""


class User(NamedTuple):
    """Who has logged in: the role, and the record of the password."""

    role: Role
    record: PasswordRecord | None


class UsersLogin:
    """The users of each role. A changed file counts at once; with a fault in it the users stay."""

    def __init__(self, files: Mapping[Role, Path], logger: Logger) -> None:
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

    def user(self, name: str, password: str) -> User | None:
        """Return a user, with the higher one of two roles; None for a wrong name or password.

        It takes tens of milliseconds, for an unknown name too.
        """
        # All are compared: the time does not depend on which file has the user.
        known = {role: file.current() for role, file in self._files.items()}
        users = [
            User(role, users.record(name))
            for role, users in known.items()
            if users.check(name, password)
        ]
        return next((one for one in users if one.role is Role.OPERATOR), next(iter(users), None))

    def has(self, name: str, user: User) -> bool:
        """Say whether the user still has the role and the password. O(1) while no file changes."""
        return self._files[user.role].current().record(name) == user.record


class TooManyLogins(Exception):
    """A login that is refused before its password is checked, with the reason."""


class Attempts:
    """Bounds the logins: wrong passwords of a peer in a minute, and hashes at a time.

    All calls come from the thread of the loop. Peers take turns.
    """

    def __init__(self, users: UsersLogin, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin without failures."""
        self._users = users
        self._now_s = now_s
        self._turns = FairSemaphore(CHECKS_MAX)
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    async def user(self, host: str, name: str, password: str) -> User | None:
        """Return a user; None for a wrong name or password.

        Raises:
            TooManyLogins: the peer, or everybody, has to wait.
        """
        peer = peer_of(host)
        self._refuse_after_failures(peer)
        try:
            async with asyncio.timeout(TURN_S):
                await self._turns.acquire(peer)
        except TimeoutError:
            raise TooManyLogins("too many logins at once; try again in a minute") from None
        try:
            self._refuse_after_failures(peer)
            # Noted before the check: many requests at once would pass together.
            at_s = self._now_s()
            self._failed[peer] = [*self._recent(peer), at_s]
            self._failed.move_to_end(peer)
            if len(self._failed) > PEERS_MAX:
                self._failed.popitem(last=False)
            user = await run_in_threadpool(self._users.user, name, password)
            if user is not None and at_s in self._failed.get(peer, ()):
                self._failed[peer].remove(at_s)
        finally:
            self._turns.release()
        return user

    def _refuse_after_failures(self, peer: str) -> None:
        if len(self._recent(peer)) >= FAILURES_MAX:
            raise TooManyLogins("too many wrong passwords; wait a minute")

    def _recent(self, peer: str) -> list[float]:
        now_s = self._now_s()
        return [at_s for at_s in self._failed.get(peer, ()) if now_s - at_s < FAILURES_S]


def peer_of(host: str) -> str:
    """Return the address by which logins are counted; of IPv6 the /64 network."""
    with suppress(ValueError):
        return str(IPv6Network((host.partition("%")[0], 64), strict=False))
    return host
