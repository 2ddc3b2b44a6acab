"""The test's side of the process that forks servers."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

import pytest

from doorkeeper.construction.errors import StartError
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.fork_client import ForkClient, environment
from testkit.forking import WAIT_S, ended, gone, is_there, started, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Who(StrEnum):
    """Names, as a test may keep them."""

    ALICE = "alice"


class Where(str, Enum):  # noqa: UP042  its str() is another
    """Names as before Python 3.11."""

    ORDERS = "orders"


@pytest.fixture
def forking() -> Iterator[ForkClient]:
    """Give a process of the test's own, that forks and ends with it."""
    forking = ForkClient(WAIT_S)
    yield forking
    forking.close()


def test_where_the_one_that_forks_is_killed_there_is_another(
    tmp_path: Path, forking: ForkClient
) -> None:
    """The next server finds one. Of those before nothing can be told: whoever waits ends them."""
    server = forking.fork(wanted(tmp_path))
    assert started(server)
    before = forking.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    after = forking.fork(wanted(tmp_path, doorkeeper_data_dir="other"))

    assert forking.pid != before
    assert is_there(server.pid)
    assert ended(server) == -signal.SIGKILL
    assert gone(server.pid)
    assert started(after)
    after.terminate()
    assert ended(after) == 0


def test_what_a_server_cannot_read_ends_no_other(tmp_path: Path, forking: ForkClient) -> None:
    """It says why it does not start, however much more there was to read."""
    other = forking.fork(wanted(tmp_path))
    assert started(other)
    unreadable = wanted(tmp_path)._replace(module_path=["x" * 10_000_000], folder="/nowhere")

    server = forking.fork(unreadable)

    assert b"/nowhere" in server.stderr.read()
    assert ended(server) == 1
    other.terminate()
    assert ended(other) == 0


def test_one_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    """A start ends with an error in time, also where there is much to send."""
    forking = ForkClient(0.5)
    forking.prepare()
    assert forking.pid is not None
    os.kill(forking.pid, signal.SIGSTOP)
    for size in (1, 10_000_000):
        large = wanted(tmp_path)._replace(module_path=["x" * size])
        with pytest.raises(TimeoutError):
            forking.fork(large)
    os.kill(forking.pid, signal.SIGKILL)
    forking.close()


def test_descriptors_may_have_large_numbers(tmp_path: Path) -> None:
    """A test with very many files open has servers too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip(f"this process may have {hard} files open; 2,048 are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    forking = ForkClient()
    try:
        server = forking.fork(wanted(tmp_path))
        assert started(server)
        server.terminate()
        assert ended(server) == 0
    finally:
        forking.close()
        for each in many:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_names_may_be_members_of_an_enum() -> None:
    """They are texts to a server, which knows nothing of the test's own classes."""
    entry = {
        "resourceType": "TOPIC",
        "name": Where.ORDERS,
        "principal": "User:alice",
        "operation": "READ",
    }
    with DoorkeeperProcess(
        users={Who.ALICE: "pw"},
        topics={Where.ORDERS: 1},
        acls=[entry],
        properties={"num.partitions": "1"},
    ) as server:
        assert server.allows("User:alice", "READ", topic="orders")
        with server.faults.refuse_login(Who.ALICE) as fault:
            assert fault.struck == 0


def test_who_waits_for_one_that_dies_goes_on(tmp_path: Path, forking: ForkClient) -> None:
    """It is ready once; where it was killed before, the next server finds another."""
    forking.prepare()
    assert forking.pid is not None
    os.kill(forking.pid, signal.SIGKILL)
    forking.wait()
    server = forking.fork(wanted(tmp_path))

    assert started(server)
    forking.wait()
    forking.wait()
    server.terminate()
    assert ended(server) == 0


def test_many_at_once() -> None:
    """Threads of a test start servers side by side, and no end of one is another's."""
    servers: list[DoorkeeperProcess] = []

    def start(listener: str) -> None:
        server = DoorkeeperProcess(listeners=[listener])
        server.start()
        servers.append(server)

    threads = [threading.Thread(target=start, args=(name,)) for name in ("PLAINTEXT", "SSL") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(servers) == 4
    assert len({server.pid for server in servers}) == 4
    while servers:
        ending = servers.pop()
        pid = ending.pid
        ending.close()
        assert not is_there(pid)
        for other in servers:
            assert other.acls() == []


def test_what_does_not_start_is_told_once() -> None:
    """A folder that is no folder: the server's own words, and no process is left."""
    server = DoorkeeperProcess(properties={"doorkeeper.data.dir": os.devnull})
    with pytest.raises(StartError, match="dev/null"):
        server.start()
    server.close()

    assert not server.is_running


def test_a_fork_of_the_test_has_one_of_its_own() -> None:
    """It starts servers, and ends only those; a lock that another thread has does not hold it."""
    code = """
import os, warnings
from doorkeeper.testing import DoorkeeperProcess
from doorkeeper.testing.fork_client import FORK_CLIENT
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, for what this test does
with DoorkeeperProcess() as ours:
    with FORK_CLIENT._lock:
        pid = os.fork()
    if not pid:
        with DoorkeeperProcess() as theirs:
            print(theirs.acls(), flush=True)
        ours.kill()
        ours.close()
        FORK_CLIENT.close()
        os._exit(0)  # as multiprocessing ends a fork: what its parent has is not to be cleaned up
    assert os.waitpid(pid, 0)[1] == 0
    print(ours.acls(), flush=True)
    ours.restart()
    print(ours.acls())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        capture_output=True,
        env=environment(),
        check=True,
        timeout=WAIT_S,
    )

    assert done.stdout.split() == [b"[]"] * 3
    assert not done.stderr
