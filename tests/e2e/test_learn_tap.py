"""``doorkeeper learn --bootstrap-server``, with a Doorkeeper as the broker behind the tap."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient

from doorkeeper.testing import DoorkeeperServer

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = {"alice": "alice-secret", "bob": "bob-secret"}


class Tap:
    """``doorkeeper learn`` in front of an address, until its end."""

    def __init__(self, address: str, *words: str) -> None:
        command = ("-m", "doorkeeper", "learn", "--bootstrap-server", address, *words)
        self._process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        self.notice = self._process.stderr.readline()
        self.address = self.notice.partition("tap on ")[2].partition(",")[0]

    def end(self) -> tuple[list[str], str]:
        """Send SIGTERM; return the rows that it printed, and its notes."""
        self._process.send_signal(signal.SIGTERM)
        printed, notes = self._process.communicate(timeout=60)
        assert self._process.returncode == 0
        return [line for line in printed.splitlines() if not line.startswith("# ")], notes


@pytest.fixture
def broker() -> Iterator[DoorkeeperServer]:
    """Give a broker of which everything is allowed."""
    with DoorkeeperServer(
        users=USERS, topics=["orders"], records=True, super_users=["User:alice", "User:bob"]
    ) as running:
        yield running


def settings(broker: DoorkeeperServer, tap: Tap, user: str, mechanism: str) -> dict[str, object]:
    """Return the settings of a client that connects to the tap."""
    found = broker.client_config(user, mechanism=mechanism).kafka_python()
    return {**found, "bootstrap_servers": tap.address}


def test_each_principal_has_its_own_acls(broker: DoorkeeperServer) -> None:
    """By the names of the logins; a consumer stays on the tap when it looks for its group."""
    tap = Tap(broker.bootstrap_servers)
    with closing(KafkaProducer(**settings(broker, tap, "alice", "PLAIN"))) as producer:
        producer.send("orders", b"an order").get(10)
    with closing(
        KafkaConsumer(
            "orders",
            **settings(broker, tap, "bob", "SCRAM-SHA-256"),
            group_id="readers",
            auto_offset_reset="earliest",
        )
    ) as consumer:
        assert next(consumer).value == b"an order"

    rows, notes = tap.end()

    assert rows == [
        "User:alice,TOPIC,LITERAL,orders,WRITE,ALLOW,*",
        "User:bob,TOPIC,LITERAL,orders,READ,ALLOW,*",
        "User:bob,GROUP,LITERAL,readers,READ,ALLOW,*",
    ]
    assert notes == ""


def test_one_principal_is_selected(broker: DoorkeeperServer) -> None:
    """Others are left out; a topic that is deleted and created needs both."""
    tap = Tap(broker.bootstrap_servers, "--principal", "User:alice")
    with closing(KafkaAdminClient(**settings(broker, tap, "bob", "PLAIN"))) as admin:
        admin.list_topics()
        admin.describe_topics(["orders"])
    with closing(KafkaAdminClient(**settings(broker, tap, "alice", "PLAIN"))) as admin:
        admin.delete_topics(["orders"])
    with closing(KafkaProducer(**settings(broker, tap, "alice", "PLAIN"))) as producer:
        producer.send("orders", b"an order").get(30)

    rows, notes = tap.end()

    assert rows == [
        "User:alice,TOPIC,LITERAL,orders,WRITE,ALLOW,*",
        "User:alice,TOPIC,LITERAL,orders,CREATE,ALLOW,*",
        "User:alice,TOPIC,LITERAL,orders,DELETE,ALLOW,*",
    ]
    assert "note: CREATE is needed because topics did not exist: orders" in notes


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "InvalidFrame"),
        (b"\x00\x00\x00\x02\x00\x00", "Malformed"),
        (b"\x00\x00\x00\x08\x7f\xff\x00\x00\x00\x00\x00\x01", "UnknownApi"),
    ],
    ids=["tls", "short", "unknown"],
)
def test_bytes_that_cannot_be_read_end_the_connection(
    sent: bytes, fault: str, broker: DoorkeeperServer
) -> None:
    """A line says why; the tap goes on."""
    tap = Tap(broker.bootstrap_servers)
    host, _, port = tap.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(sent)
        assert client.recv(1) == b""
    with closing(KafkaAdminClient(**settings(broker, tap, "bob", "PLAIN"))) as admin:
        assert "orders" in admin.list_topics()

    _, notes = tap.end()

    assert notes.startswith(f"doorkeeper: a connection was closed: {fault}: ")
    assert notes.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--bootstrap-server", "here"), "'here': expected is host:port"),
        (("--bootstrap-server", "a:1", "--listen", "b:65536"), "'b:65536': expected is host:port"),
        (("--bootstrap-server", "a:1", "--from", "log"), "allowed: one of them"),
        (("--bootstrap-server", "a:1", "--check", "acls.yaml"), "for a server of its own"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], text: str) -> None:
    """The message says what was found and what is allowed."""
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "learn", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert text in done.stderr


def test_an_address_that_is_taken(broker: DoorkeeperServer) -> None:
    """It is an error of one line."""
    words = ("--bootstrap-server", broker.bootstrap_servers, "--listen", broker.bootstrap_servers)
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "learn", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(f"doorkeeper: {broker.bootstrap_servers}: ")
    assert done.stderr.count("\n") == 1
