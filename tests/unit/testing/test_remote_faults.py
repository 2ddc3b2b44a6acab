"""LocalFaults of a server in a process of its own. What they do is in test_faulty_connection."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.client import AdminClient
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.faults import FaultKind, LocalFaults
from doorkeeper.testing.remote_faults import RemoteFaults, serve_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIBE_ACLS = 29


class Ends:
    """The test's side of faults, and the server's, in one process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.local = LocalFaults()
        self.distant = RemoteFaults(ours)
        self.thread = threading.Thread(target=serve_faults, args=(theirs, self.local))
        self.thread.start()

    def strike(self) -> bool:
        """Let something go wrong once, if it shall."""
        return self.local.strikes(FaultKind.DROP_BEFORE, DESCRIBE_ACLS) is not None


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.distant.close()
    ends.thread.join()


def test_fault_is_active_in_its_block(ends: Ends) -> None:
    fault = ends.distant.drop("DescribeAcls", times=2)

    assert not ends.strike()
    with fault:
        assert ends.strike()
        assert fault.struck == 1
        assert [ends.strike() for _ in range(2)] == [True, False]
    assert not ends.strike()
    assert fault.struck == 2
    with fault:
        assert not ends.strike()
    assert fault.struck == 2


def test_all_fault_kinds_are_transferred(ends: Ends) -> None:
    faults = ends.distant
    with (
        faults.delay("DescribeAcls", ms=20),
        faults.error("DescribeAcls", "NOT_CONTROLLER", "why"),
        faults.drop("DescribeAcls", after=True),
        faults.refuse_login("alice"),
    ):
        delay = ends.local.strikes(FaultKind.DELAY, DESCRIBE_ACLS)
        error = ends.local.strikes(FaultKind.ERROR, DESCRIBE_ACLS)
        assert delay is not None
        assert delay.delay_s == 0.02
        assert error is not None
        assert error.error == (41, "why")
        assert ends.local.strikes(FaultKind.DROP_AFTER, DESCRIBE_ACLS) is not None
        assert ends.local.strikes(FaultKind.REFUSE_LOGIN, "alice") is not None


def test_stopped_server_rejects_faults() -> None:
    ends = Ends()
    fault = ends.distant.drop("DescribeAcls")
    with fault:
        assert ends.strike()
        assert fault.struck == 1
        ends.distant.close()
        ends.thread.join()
        assert fault.struck == 1
    with pytest.raises(RuntimeError, match="has stopped"), fault:
        pass


def describe(server: DoorkeeperProcess) -> int:
    """Ask as a client does, which tries again; return how many ACLs there are."""

    async def asked() -> int:
        async with AdminClient(server.client_config().doorkeeper()) as admin:
            return len(await admin.describe_acls())

    return asyncio.run(asked())


def test_questions_of_the_test_are_not_affected() -> None:
    server = DoorkeeperProcess()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.faults

    with server:
        with server.faults.drop("DescribeAcls", times=2) as fault:
            assert server.acls() == []
            assert fault.struck == 0
            assert describe(server) == 0
            assert fault.struck == 2
        with server.faults.drop("DescribeAcls") as fault:
            server.kill()
            server.restart()
            assert describe(server) == 0
        assert fault.struck == 0
