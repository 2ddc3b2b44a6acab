"""Users of SCRAM, from the first administrator to the last logout, with real processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from testkit import logins
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.e2e import command
from testkit.kafka_broker import free_port
from testkit.kafka_tools import run_on_terminal
from testkit.serving import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
DENIED = "CLUSTER_AUTHORIZATION_FAILED"
REFUSED = "SASL_AUTHENTICATION_FAILED"


class Site:
    """A server with one SCRAM listener, and an administrator made before its first start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = port = free_port()
        self.address = f"localhost:{port}"
        self.server = DoorkeeperServer(
            {
                "listeners": f"DOOR://{self.address}",
                "listener.security.protocol.map": "DOOR:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                "authorizer.class.name": STANDARD,
                "super.users": "User:admin",
                "connections.max.reauth.ms": "3600000",
            },
            ports=(port,),
        )

    def offline(self, *words: str, password: str = "") -> Done:
        """Run a command on the store."""
        address = f"config:{self.server.folder / 'server.properties'}"
        return users(address, *words, password=password)

    def online(
        self,
        *words: str,
        password: str = "",
        user: str = "admin",
        login: str = "admin-secret",
        mechanism: str = "SCRAM-SHA-512",
    ) -> Done:
        """Run a command over the wire, as somebody."""
        file = self._folder / "client.properties"
        file.write_text(self.properties(user, login, mechanism))
        where = ["--command-config", str(file)]
        return users(f"kafka://{self.address}", *words, *where, password=password)

    @staticmethod
    def properties(user: str, login: str, mechanism: str = "SCRAM-SHA-512") -> str:
        """Return the properties of a client."""
        return (
            "security.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={SCRAM} required username="{user}" password="{login}";\n'
        )


class Done(NamedTuple):
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


def users(address: str, verb: str, *words: str, password: str = "") -> Done:
    """Run a command, with this on its standard input."""
    return Done(*command(Path.cwd(), "users", verb, address, *words, typed=password))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    yield found
    found.server.close()


def test_users_from_the_first_administrator_on(site: Site) -> None:
    first = site.offline("add", "admin", password="admin-secret\n")
    assert (first.returncode, first.stderr) == (0, "")
    site.server.start()

    added = site.online("add", "alice", "--iterations", "8192", password="alice-secret\n")
    listed = site.online("list", "--output", "json")
    alice = {"user": "alice", "login": "alice-secret"}
    denied = site.online("list", **alice)
    site.online("set-password", "alice", password="new-secret\n")
    stale = site.online("list", **alice)
    fresh = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-256")
    site.online("remove", "alice", "--mechanism", "SCRAM-SHA-256")
    half = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-256")
    other = site.online("list", user="alice", login="new-secret", mechanism="SCRAM-SHA-512")

    assert added.stdout == "alice: added for SCRAM-SHA-256 and SCRAM-SHA-512\n"
    assert [tuple(row.values()) for row in json.loads(listed.stdout)["users"]] == [
        ("admin", "SCRAM-SHA-256", 4096),
        ("admin", "SCRAM-SHA-512", 4096),
        ("alice", "SCRAM-SHA-256", 8192),
        ("alice", "SCRAM-SHA-512", 8192),
    ]
    for result, text in (
        (denied, DENIED),
        (stale, REFUSED),
        (fresh, DENIED),
        (half, REFUSED),
        (other, DENIED),
    ):
        assert (result.returncode, result.stdout) == (1, "")
        assert text in result.stderr
    site.server.stop()
    everything = [site.server.log.read_text(), *(each.stderr for each in (added, denied, stale))]
    everything += [
        file.read_bytes().decode("latin-1")
        for file in (site.server.folder / "data").iterdir()
        if file.is_file()
    ]
    for secret in ("admin-secret", "alice-secret", "new-secret"):
        assert not any(secret in text for text in everything)


def test_users_survive_a_kill(site: Site) -> None:
    site.offline("add", "admin", password="admin-secret\n")
    site.server.start()
    added = site.online("add", "bob", "--mechanism", "SCRAM-SHA-256", password="bob-secret\n")
    busy = site.offline("list")
    site.server.kill()

    listed = site.offline("list")
    gone = site.offline("remove", "bob")

    assert added.returncode == gone.returncode == 0
    assert busy.returncode == 1
    assert "kafka://HOST:PORT" in busy.stderr
    assert listed.stdout.splitlines()[-1] == "bob    SCRAM-SHA-256  4096 iterations"


def test_password_prompt_does_not_echo(site: Site) -> None:
    config = str(site.server.folder / "server.properties")
    words = [sys.executable, "-m", "doorkeeper", "users", "add", f"config:{config}", "admin"]

    done = run_on_terminal(
        words, answers=[("New password: ", "typed-secret"), ("confirmation: ", "typed-secret")]
    )

    assert done.status == 0, done
    assert "typed-secret" not in done.stdout
    assert "admin: added" in done.stdout
    site.server.start()
    assert site.online("list", login="typed-secret").returncode == 0


def test_changed_user_keeps_open_sessions(site: Site) -> None:
    site.offline("add", "admin", password="admin-secret\n")
    site.offline("add", "bob", password="bob-secret\n")
    site.server.start()
    staying, leaving, late = talkers = [Conversation(site.port) for _ in range(3)]
    assert proves(staying, "bob-secret")
    assert proves(leaving, "bob-secret")
    changed = site.online("set-password", "bob", password="new-secret\n")
    with_the_new = proves(staying, "new-secret")
    deleted = site.online("remove", "bob")
    assert changed.returncode == deleted.returncode == 0
    assert with_the_new
    for each in (staying, leaving):
        answer = each.call(DescribeClusterRequest(), DescribeClusterResponse, 0)
        assert answer.error_code == 0
    assert not proves(leaving, "bob-secret")
    assert not proves(late, "new-secret")
    for each in talkers:
        each.socket.close()


def proves(conversation: Conversation, password: str) -> bool:
    """Log bob in, or authenticate him again on the same connection."""
    answer = logins.scram(conversation, "SCRAM-SHA-256", "bob", password)
    return answer.error_code == 0
