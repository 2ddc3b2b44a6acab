"""The first session of a newcomer: the server without any file, Kafka's tools at their default."""

import fcntl
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_acl_rows import allow, listed
from testkit.kafka_tools import Done, KafkaTools, run_on_terminal, write_scripts

KAFKAS_PORT = 9092


@contextmanager
def port_to_itself(port: int) -> Iterator[None]:
    """Wait until no other worker has a server on a port that is not of the test's choice."""
    with (Path(tempfile.gettempdir()) / f"doorkeeper-port-{port}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_server_without_configuration(tools: KafkaTools, tmp_path: Path) -> None:
    """Started bare, it serves kafka-acls.sh on localhost:9092, and keeps its ACLs in ./data."""
    with port_to_itself(KAFKAS_PORT):
        first_session(tools, tmp_path)


def first_session(tools: KafkaTools, tmp_path: Path) -> None:
    """Start, add, stop, start again, list and remove."""
    if not is_free(KAFKAS_PORT):
        pytest.skip(f"another program listens on port {KAFKAS_PORT}")
    address = f"localhost:{KAFKAS_PORT}"
    write_scripts(tools.jars, tmp_path / "bin", plain=address, sasl=address)
    server = DoorkeeperServer(None, ports=(KAFKAS_PORT,))

    def run(line: str) -> Done:
        words = ["bash", "-c", f"bin/kafka-acls.sh --bootstrap-server {address} {line}"]
        done = run_on_terminal(words, answers=[("(y/n)", "y")], folder=tmp_path)
        assert done.status == 0, done
        return done

    try:
        server.start()
        run("--add --allow-principal User:Bob --operation Read --topic Test-topic")
        assert server.stop() == 0
        assert (server.folder / "data").is_dir()

        server.start()
        assert listed(run("--list")) == allow("User:Bob", "READ", "TOPIC Test-topic")
        run("--remove --topic Test-topic")
        assert listed(run("--list")) == frozenset()
    finally:
        server.close()
