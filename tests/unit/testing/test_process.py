"""A server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.client import AdminClient
from doorkeeper.server.app.errors import StartError
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.acl_options import bindings_of
from testkit.load import scaled
from testkit.plugins import InMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.model import AclBinding

READ = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:alice",
    "operation": "READ",
}
MORE = {**READ, "name": "more"}
START_ONE = """
import os, signal, sys
from doorkeeper.testing import DoorkeeperProcess
server = DoorkeeperProcess()
server.start()
print(server.pid, flush=True)
"""


class Name(StrEnum):
    """A user's name as the test has it."""

    ALICE = "alice"


class Partitions(IntEnum):
    """A number as the test has it."""

    TWO = 2


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


def test_process_serves_its_configuration(running: DoorkeeperProcess) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        assert listed(running, mechanism) == bindings_of([READ])
    assert running.allows("User:alice", "READ", topic="orders")
    assert running.denies("User:alice", "READ", topic="other")
    assert running.allows("User:admin", "ALTER", cluster=True)
    assert running.explain("User:alice", "READ", topic="orders").decision.binding is not None


def test_log_of_the_process_is_readable(running: DoorkeeperProcess) -> None:
    assert running.pid != os.getpid()
    assert [line["acls"] for line in running.log if line["event"] == "started"] == [1]


def test_acknowledged_changes_survive_a_kill(running: DoorkeeperProcess) -> None:
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


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"properties": {"num.partitions": "x"}}, "num.partitions"),
        ({"properties": {"doorkeeper.data.dir": os.devnull}}, os.devnull),
        ({"properties": {"listeners": "PLAINTEXT://192.0.2.1:0"}}, "192.0.2.1"),
    ],
)
def test_failed_start_is_explained(options: dict[str, Any], problem: str) -> None:
    server = DoorkeeperProcess(**options)

    with pytest.raises(StartError) as raised:
        server.start()
    server.close()

    assert problem in str(raised.value)
    assert "Traceback" not in str(raised.value)
    assert not server.is_running


def test_local_authorizer_is_importable() -> None:
    name = f"{InMemory.__module__}.{InMemory.__name__}"
    with DoorkeeperProcess(properties={"authorizer.class.name": name}) as server:
        server.add_acls([READ])
        assert server.acls() == bindings_of([READ])
        server.clear()
        assert server.acls() == []
        with pytest.raises(TypeError, match="cannot be queried"):
            server.allows("User:alice", "READ", topic="orders")


def test_enum_values_are_passed_to_the_process() -> None:
    options: dict[str, Any] = {
        "users": {Name.ALICE: "secret"},
        "acls": [{**READ, "principal": f"User:{Name.ALICE}"}],
        "topics": {"orders": Partitions.TWO},
    }
    with DoorkeeperProcess(**options) as server:
        assert listed(server, "PLAIN") == bindings_of([READ])


@pytest.mark.parametrize("ending", ["sys.exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_process_ends_with_the_test(ending: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", START_ONE + ending],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        timeout=scaled(30),
    )

    pid = int(done.stdout)
    assert not done.stderr
    deadline_s = time.monotonic() + scaled(30)
    while is_running(pid):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether a process has not ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_fork_does_not_stop_the_server() -> None:
    with DoorkeeperProcess() as server:
        child = os.fork()
        if not child:
            server.close()
            os._exit(0)
        os.waitpid(child, 0)

        assert server.acls() == []
