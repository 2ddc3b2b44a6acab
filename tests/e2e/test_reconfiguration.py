"""Values change while clients ask: no connection is lost, every answer is of one state."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frames import FrameClient
from testkit.kafka_target import USERS, Target, doorkeeper_target

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERYTHING = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
ADMINS = "User:ANONYMOUS;User:admin"
CLIENTS = 8
CHANGES = 30


@pytest.fixture
def target() -> Iterator[Target]:
    running = doorkeeper_target()
    yield running
    running.close()


def alter(client: FrameClient, key: str, value: str | None, broker: str = "1") -> Any:
    """Set a key, or delete it; return the row of the answer."""
    config = AlterableConfig(name=key, config_operation=int(value is None), value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name=broker, configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,))
    (row,) = client.ask(request, IncrementalAlterConfigsResponse, 1).responses
    return row


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
        except BaseException as error:  # noqa: BLE001  the test tells it
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
            assert alter(admin, "super.users", users).error_code == 0
            assert witness.ask() == (0 if allowed else 31)
        over.set()
        for thread in threads:
            thread.join(30)
            thread.close()
        witness.close()

    assert [thread.failure for thread in threads] == [None] * CLIENTS
    assert {code for thread in threads for code in thread.codes} == {0, 31}
    assert all(len(thread.codes) > CHANGES for thread in threads)


def test_a_refused_value_changes_nothing(target: Target) -> None:
    """The answer says what is wrong; decisions go on as they were."""
    with FrameClient(target.plain) as admin:
        row = alter(admin, "super.users", "alice")

        assert row.error_code == 42
        assert "super.users" in row.error_message
        assert alter(admin, "super.users", ADMINS).error_code == 0


def test_values_survive_a_kill(target: Target) -> None:
    """What was acknowledged is there after SIGKILL; deleted, the file's value counts again."""
    server = target.server
    assert isinstance(server, DoorkeeperServer)
    with FrameClient(target.plain) as admin:
        assert alter(admin, "super.users", f"{ADMINS};User:alice", broker="").error_code == 0

    server.kill()
    server.start()

    asking = Asking(target, threading.Event())
    assert asking.ask() == 0
    with FrameClient(target.plain) as admin:
        assert alter(admin, "super.users", None, broker="").error_code == 0
    assert asking.ask() == 31
    asking.close()
