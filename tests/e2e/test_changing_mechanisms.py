"""The mechanism of a running server changes as docs/reference/security.md says; none is refused."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit import logins
from testkit.credential_cases import alter_users
from testkit.scram import salted_password
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.serving import Conversation

SCRAM = "SCRAM-SHA-512"
PROPERTIES = """
listeners=SASL://localhost:0
listener.security.protocol.map=SASL:SASL_PLAINTEXT
super.users=User:alice
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
connections.max.reauth.ms=3600000
sasl.enabled.mechanisms={mechanisms}
"""
PLAIN_MODULE = """
    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker"
        password="a-brokers-own"
        user_alice="alice-secret";
"""
SCRAM_MODULE = """
    org.apache.kafka.common.security.scram.ScramLoginModule required
        username="broker"
        password="a-brokers-own";
"""
LOGINS_MIN = 10


class Operator:
    """A server whose configuration somebody changes; what its files hold is ours."""

    def __init__(self, folder: Path) -> None:
        self._properties = folder / "server.properties"
        self._jaas = folder / "jaas.conf"
        self.configure("PLAIN", PLAIN_MODULE)
        arguments = ("--config", str(self._properties), "--jaas-file", str(self._jaas))
        self.server = Serving(folder, *arguments)
        self._signals = 0

    def configure(self, mechanisms: str, modules: str) -> None:
        """Write both files."""
        self._properties.write_text(PROPERTIES.format(mechanisms=mechanisms))
        self._jaas.write_text(f"KafkaServer {{{modules}}};\n")

    def reload(self, mechanisms: str, modules: str) -> None:
        """Write both files, and have them read."""
        self.configure(mechanisms, modules)
        self._signals += 1
        self.server.process.send_signal(signal.SIGHUP)
        self.server.line("reloaded", self._signals)


class Client(threading.Thread):
    """Logs in again and again, each time on a new connection, by the mechanism of the moment."""

    def __init__(self, server: Serving) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.mechanism = "PLAIN"
        self.over = threading.Event()
        self.counts = {"PLAIN": 0, SCRAM: 0}
        self.refused: list[str] = []

    def run(self) -> None:
        while not self.over.is_set():
            mechanism = self.mechanism
            with self._server.connect("SASL") as connection:
                refused = login(connection, mechanism)
            if refused:
                self.refused.append(refused)
            self.counts[mechanism] += 1

    def until(self, mechanism: str) -> None:
        """Wait until it has logged in often enough with a mechanism."""
        enough = self.counts[mechanism] + LOGINS_MIN
        deadline = time.monotonic() + 20
        while self.counts[mechanism] < enough:
            assert time.monotonic() < deadline, self.counts
            time.sleep(0.01)


def login(connection: Conversation, mechanism: str) -> str | None:
    """Log alice in, on a new connection or again; return what she is told where she is refused."""
    if mechanism == "PLAIN":
        return logins.plain(connection, "alice", "alice-secret").error_message or None
    return logins.scram(connection, mechanism, "alice", "alice-scram").error_message or None


def is_served(connection: Conversation) -> bool:
    """Say whether a connection is answered."""
    answer = connection.call(DescribeClusterRequest(), DescribeClusterResponse, 1)
    return bool(answer.error_code == 0)


def make_credential(connection: Conversation) -> None:
    """Give alice a password for SCRAM."""
    salt = b"a salt of the client"
    salted = salted_password(SCRAM, "alice-scram", salt)
    step = alter_users(upsertions=[("alice", 2, 4096, salt, salted)])
    answer = connection.call(step.request, step.response, step.version)
    assert [row.error_code for row in answer.results] == [0]


def test_migration_from_plain_to_scram(tmp_path: Path) -> None:
    operator = Operator(tmp_path)
    with operator.server as server, server.connect("SASL") as old:
        assert login(old, "PLAIN") is None
        began_s = time.monotonic()
        client = Client(server)
        client.start()
        client.until("PLAIN")
        make_credential(old)
        operator.reload(f"PLAIN,{SCRAM}", PLAIN_MODULE + SCRAM_MODULE)
        client.until("PLAIN")
        client.mechanism = SCRAM
        client.until(SCRAM)
        operator.reload(SCRAM, SCRAM_MODULE)
        client.until(SCRAM)
        client.over.set()
        client.join()

        assert client.refused == []
        with server.connect("SASL") as late:
            request = SaslHandshakeRequest(mechanism="PLAIN")
            answer = late.call(request, SaslHandshakeResponse, 1)
            assert (answer.error_code, answer.mechanisms) == (33, (SCRAM,))
        # A broker too takes a login on the same connection once a second at most.
        time.sleep(max(0.0, began_s + 1.1 - time.monotonic()))
        assert login(old, "PLAIN") is None
        assert is_served(old)
        assert server.stop() == 0
        assert "secret" not in str(server.lines)
        assert "a-brokers-own" not in str(server.lines)
