"""How many logins with passwords a peer may try, and how many are checked at a time."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable

from doorkeeper.console.login.oidc import Refused
from doorkeeper.console.login.sessions import Role
from doorkeeper.console.login.users import (
    CHECKS_MAX,
    FAILURES_MAX,
    FAILURES_S,
    User,
    UsersLogin,
)
from doorkeeper.server.runtime.logger import NO_LOG


class Users(UsersLogin):
    """Users with one password, whose checks wait until ``opened`` is set, and are counted."""

    def __init__(self, now_s: Callable[[], float] = lambda: 0.0, *, is_open: bool = False) -> None:
        """Begin without checks."""
        super().__init__({}, NO_LOG, now_s)
        self.opened = threading.Event()
        if is_open:
            self.opened.set()
        self.running: list[int] = []
        self.most: list[int] = []

    def user_of(self, name: str, password: str) -> User | None:
        """Wait, and compare."""
        self.running.append(0)
        self.most.append(len(self.running))
        self.opened.wait(60)
        self.running.pop()
        return User(Role.VIEWER, None) if password == "right" else None


async def tried(users: UsersLogin, host: str, password: str = "wrong") -> str:
    try:
        user = await users.log_in(host, "vera", password)
        return str(user and user.role)
    except Refused as error:
        return str(error)


async def begun(known: Users) -> None:
    """Return when as many checks run as may."""
    while len(known.running) < CHECKS_MAX:
        await asyncio.sleep(0.001)


async def test_a_burst_does_not_pass_the_limit() -> None:
    """Of requests at once as many are checked as of requests in turn, a few at a time."""
    known = Users()
    burst = [asyncio.create_task(tried(known, "192.0.2.1")) for _ in range(60)]
    await begun(known)
    known.opened.set()

    answers = Counter(await asyncio.gather(*burst))

    assert answers.pop("None") == FAILURES_MAX
    assert answers == {"too many wrong passwords; wait a minute": 60 - FAILURES_MAX}
    assert max(known.most) == CHECKS_MAX


async def test_other_peers_have_their_turn_during_a_burst() -> None:
    """One login waits for a check that runs, not for the whole burst."""
    known = Users()
    ended: list[str] = []

    async def one(host: str, password: str) -> None:
        ended.append(await tried(known, host, password))

    burst = [asyncio.create_task(one("192.0.2.1", "wrong")) for _ in range(60)]
    await begun(known)
    other = asyncio.create_task(one("192.0.2.2", "right"))
    await asyncio.sleep(0)
    known.opened.set()
    await asyncio.gather(other, *burst)

    assert ended.index("Role.VIEWER") <= 2 * CHECKS_MAX


async def test_right_passwords_are_not_counted() -> None:
    """Of many people behind one address nobody waits; a minute later failures are forgotten."""
    now_s = [0.0]
    known = Users(lambda: now_s[0], is_open=True)

    right = [await tried(known, "192.0.2.1", "right") for _ in range(FAILURES_MAX + 1)]
    wrong = [await tried(known, "192.0.2.1") for _ in range(FAILURES_MAX + 1)]
    now_s[0] = FAILURES_S
    later = await tried(known, "192.0.2.1", "right")

    assert set(right) == {"Role.VIEWER"}
    assert wrong == ["None"] * FAILURES_MAX + ["too many wrong passwords; wait a minute"]
    assert later == "Role.VIEWER"
