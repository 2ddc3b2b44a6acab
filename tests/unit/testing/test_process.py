"""A server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.client import AdminClient
from doorkeeper.construction.errors import StartError
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.acl_options import bindings_of
from doorkeeper.testing.fork_client import FORK_CLIENT
from testkit.forking import gone
from testkit.plugins import InMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acl.model import AclBinding

READ = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:alice",
    "operation": "READ",
}
MORE = {**READ, "name": "more"}


@pytest.fixture(scope="module")
def running() -> Iterator[DoorkeeperProcess]:
    options: dict[str, Any] = {"users": {"alice": 'p"w \u00e9'}, "acls": [READ], "topics": ["a"]}
    with DoorkeeperProcess(**options) as server:
        yield server


def listed(server: DoorkeeperProcess, mechanism: str) -> list[AclBinding]:
    """Return what an administrator is told."""

    async def describe() -> list[AclBinding]:
        config = server.client_config(mechanism=mechanism).doorkeeper()
        async with AdminClient(config) as admin:
            return await admin.describe_acls()

    return asyncio.run(describe())


def test_it_serves_what_it_began_with(running: DoorkeeperProcess) -> None:
    """Users log in by each mechanism; ACLs are those that were given; decisions are explained."""
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        assert listed(running, mechanism) == bindings_of([READ])
    assert running.allows("User:alice", "READ", topic="orders")
    assert running.denies("User:alice", "READ", topic="other")
    assert running.allows("User:admin", "ALTER", cluster=True)
    assert running.explain("User:alice", "READ", topic="orders").decision.binding is not None


def test_it_is_a_process(running: DoorkeeperProcess) -> None:
    """It has an id of its own, and its log can be read; what it is asked through is not told."""
    assert running.pid != os.getpid()
    assert [line["acls"] for line in running.log if line["event"] == "started"] == [1]
    assert list(running._addresses) == ["SASL_PLAINTEXT"]


def test_what_was_acknowledged_survives(running: DoorkeeperProcess) -> None:
    """After kill -9 and a new start the ACLs are there; after a reset those of the beginning."""
    running.add_acls([MORE])
    running.kill()
    running.restart()
    after_kill = running.acls()
    running.remove_acls([READ])
    running.restart()
    after_restart = running.acls()
    running.reset()

    assert after_kill == sorted(bindings_of([READ, MORE]))
    assert after_restart == bindings_of([MORE])
    assert running.acls() == bindings_of([READ])


def test_what_does_not_start_says_why() -> None:
    """The error has what the process said, and nothing is left of it."""
    server = DoorkeeperProcess(properties={"num.partitions": "x"})

    with pytest.raises(StartError, match=r"num\.partitions"):
        server.start()
    server.close()

    assert not server.is_running
    with pytest.raises(RuntimeError, match="does not run"):
        _ = server.pid


def test_an_end_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who forked it, and would tell of its end, may be stopped; the server ends all the same."""
    monkeypatch.setattr("doorkeeper.testing.process.STOP_S", 0.5)
    with DoorkeeperProcess() as server:
        pid = server.pid
        assert FORK_CLIENT.pid is not None
        os.kill(FORK_CLIENT.pid, signal.SIGSTOP)
        try:
            server.stop()
            assert not server.is_running
        finally:
            os.kill(FORK_CLIENT.pid, signal.SIGCONT)
        assert gone(pid)


def test_an_authorizer_of_the_tests_own_is_found() -> None:
    """The process imports what the test can import; only the process can ask that authorizer."""
    name = f"{InMemory.__module__}.{InMemory.__name__}"
    with DoorkeeperProcess(properties={"authorizer.class.name": name}) as server:
        server.add_acls([READ])
        assert server.acls() == bindings_of([READ])
        server.clear()
        assert server.acls() == []
        with pytest.raises(TypeError, match="cannot be asked"):
            server.allows("User:alice", "READ", topic="orders")
