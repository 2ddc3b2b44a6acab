"""Values change while clients ask: no connection is lost, every answer is of one state."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.e2e import EVERYTHING
from testkit.frame_steps import change_configs
from testkit.frames import FrameClient
from testkit.kafka_target import USERS, Target, doorkeeper_target
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

ADMINS = "User:ANONYMOUS;User:admin"
CLIENTS = 8
CHANGES = 30


@pytest.fixture
def target() -> Iterator[Target]:
    running = doorkeeper_target()
    yield running
    running.close()


def alter(client: FrameClient, value: str | None, broker: str = "1") -> int:
    """Set the super users, or delete the value; return the code."""
    keys = (("super.users", int(value is None), value),)
    step = change_configs(1, (4, broker, keys))
    (row,) = client.ask(step.request, step.response, step.version).responses
    code: int = row.error_code
    return code


class Asking(threading.Thread):
    """One connection of alice, who asks as fast as she can; keeps each answer's code."""

    def __init__(self, target: Target, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self._client = FrameClient(target.sasl)
        self._client.login("alice", USERS["alice"])
        self._over = over
        self.codes: list[int] = []
        self.failure: BaseException | None = None

    def ask(self) -> int:
        """Ask once."""
        code: int = self._client.ask(EVERYTHING, DescribeAclsResponse, 3).error_code
        return code

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def run(self) -> None:
        try:
            while not self._over.is_set():
                self.codes.append(self.ask())
        except BaseException as error:  # the test tells it
            self.failure = error


def test_super_users_change_under_load(target: Target) -> None:
    """Each connection lives on; its answers are allowed or refused and nothing else.

    What was acknowledged counts for the next request of every connection, an old one too.
    """
    over = threading.Event()
    threads = [Asking(target, over) for _ in range(CLIENTS)]
    witness = Asking(target, over)
    with FrameClient(target.plain) as admin:
        assert witness.ask() == 31
        for thread in threads:
            thread.start()
        for number in range(CHANGES):
            allowed = number % 2 == 0
            users = f"{ADMINS};User:alice" if allowed else ADMINS
            assert alter(admin, users) == 0
            assert witness.ask() == (0 if allowed else 31)
        over.set()
        for thread in threads:
            thread.join(scaled(30))
            thread.close()
        witness.close()

    assert [thread.failure for thread in threads] == [None] * CLIENTS
    assert {code for thread in threads for code in thread.codes} == {0, 31}
    assert all(len(thread.codes) > CHANGES for thread in threads)


def test_dynamic_values_survive_a_kill(target: Target) -> None:
    server = target.server
    assert isinstance(server, DoorkeeperServer)
    with FrameClient(target.plain) as admin:
        assert alter(admin, f"{ADMINS};User:alice", broker="") == 0

    server.kill()
    server.start()

    asking = Asking(target, threading.Event())
    assert asking.ask() == 0
    with FrameClient(target.plain) as admin:
        assert alter(admin, None, broker="") == 0
    assert asking.ask() == 31
    asking.close()
