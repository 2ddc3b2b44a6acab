"""``doorkeeper learn --bootstrap-server``, with a Doorkeeper as the broker."""

from __future__ import annotations

import socket
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient

from doorkeeper.cli.learn.present import NOT_COMPARED
from doorkeeper.testing import DoorkeeperServer
from testkit.e2e import doorkeeper
from testkit.learn_tap import Tap
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USERS = {"alice": "alice-secret", "bob": "bob-secret"}


@pytest.fixture
def broker() -> Iterator[DoorkeeperServer]:
    """Give a broker on which both users may do everything."""
    with DoorkeeperServer(
        users=USERS, topics=["orders"], records=True, super_users=["User:alice", "User:bob"]
    ) as running:
        yield running


def settings(broker: DoorkeeperServer, tap: Tap, user: str, mechanism: str) -> dict[str, object]:
    """Return the settings of a client that connects to the tap."""
    config = broker.client_config(user, mechanism=mechanism).kafka_python()
    return {**config, "bootstrap_servers": tap.address}


def rows_of(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if not line.startswith("# ")]


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
    printed, notes = tap.end()
    assert rows_of(printed) == [
        "User:alice,TOPIC,LITERAL,orders,WRITE,ALLOW,*",
        "User:bob,TOPIC,LITERAL,orders,READ,ALLOW,*",
        "User:bob,GROUP,LITERAL,readers,READ,ALLOW,*",
    ]
    assert notes == f"doorkeeper: {NOT_COMPARED}\n"


def test_one_principal_is_selected(broker: DoorkeeperServer) -> None:
    """Others are left out; a topic that is deleted and created needs both."""
    tap = Tap(broker.bootstrap_servers, "--principal", "User:alice")
    with closing(KafkaAdminClient(**settings(broker, tap, "bob", "PLAIN"))) as admin:
        admin.describe_topics(["orders"])
    with closing(KafkaAdminClient(**settings(broker, tap, "alice", "PLAIN"))) as admin:
        admin.delete_topics(["orders"])
    with closing(KafkaProducer(**settings(broker, tap, "alice", "PLAIN"))) as producer:
        producer.send("orders", b"an order").get(30)
    printed, notes = tap.end()
    assert rows_of(printed) == [
        f"User:alice,TOPIC,LITERAL,orders,{operation},ALLOW,*"
        for operation in ("WRITE", "CREATE", "DELETE")
    ]
    assert "note: CREATE is needed because topics did not exist: orders" in notes


def test_bytes_that_cannot_be_read_end_the_connection(broker: DoorkeeperServer) -> None:
    """A line says why; the tap serves other clients."""
    tap = Tap(broker.bootstrap_servers)
    host, _, port = tap.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=scaled(30)) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert client.recv(1) == b""
    with closing(KafkaAdminClient(**settings(broker, tap, "bob", "PLAIN"))) as admin:
        assert "orders" in admin.list_topics()
    _, notes = tap.end()
    assert notes.startswith("doorkeeper: a connection was closed: InvalidFrame: ")
    assert notes.splitlines()[1:] == [f"doorkeeper: {NOT_COMPARED}"]


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    """A line says so; the client sees its connection end, and nothing was learned."""
    code = (
        "import os, socket; host, port = os.environ['KAFKA_BOOTSTRAP_SERVERS'].split(':');"
        "print(socket.create_connection((host, int(port))).recv(1))"
    )
    words = ("--bootstrap-server", "127.0.0.1:1", "--", sys.executable, "-c", code)
    done = doorkeeper(tmp_path, "learn", *words)
    assert (done.returncode, done.stdout) == (1, "b''\n")
    assert "doorkeeper: 127.0.0.1:1: " in done.stderr
    assert "Traceback" not in done.stderr
