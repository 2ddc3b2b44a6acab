"""Names and passwords from files of salted hashes, which ``doorkeeper users-file`` writes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Network
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.concurrency import run_in_threadpool

from doorkeeper.console.login.sessions import Role
from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.security.users_file import HashedUsers, read

FAILURES_MAX: Final = 10
"""Wrong passwords of a peer in ``FAILURES_S``; then it waits."""

FAILURES_S: Final = 60.0

PEERS_MAX: Final = 10_000

CHECKS_MAX: Final = 2
"""Passwords that are hashed at a time: each needs 16 MiB or more, and a processor."""

TURN_S: Final = 10.0
"""How long a login waits for its turn."""


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

    async def role_of(self, host: str, name: str, password: str) -> Role | None:
        """Return the role of a user; None for a wrong name or password.

        Raises:
            TooManyLogins: the peer, or everybody, has to wait.
            ValueError: a file of users cannot be read.
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
            role = await run_in_threadpool(self._users.role_of, name, password)
            if role is not None and at_s in self._failed.get(peer, ()):
                self._failed[peer].remove(at_s)
        finally:
            self._turns.release()
        return role

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
