"""Users of SCRAM as real tools and clients make them, log in as them, and delete them."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from testkit.kafka_broker import free_port, wait_for_port
from testkit.kafka_target import kafka_target
from testkit.kafka_tools import KafkaTools, run_on_terminal, write_scripts
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.security_page import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from testkit.kafka_target import Target

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
SCRAM_KEYS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{MODULE} required;",
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{MODULE} required;",
}
"""A broker needs a login module for each mechanism."""

SETTLED_S = 20


@pytest.fixture
def door(start_target: Callable[..., Target]) -> Iterator[Target]:
    """A server with PLAIN and both kinds of SCRAM; its open listener is an administrator's."""
    found = start_target(**SCRAM_KEYS)
    yield found
    found.close()


def test_security_page_example_runs(
    kafka_tools: Callable[[str], KafkaTools], tmp_path: Path
) -> None:
    server_file, first, client_file, commands = blocks("## SCRAM")
    port = free_port()
    address = f"localhost:{port}"
    (tmp_path / "server.properties").write_text(server_file.replace("localhost:9092", address))
    (tmp_path / "admin.properties").write_text(client_file)
    write_scripts(kafka_tools("4.3.1").jars, tmp_path / "bin", plain=address, sasl=address)
    doorkeeper = tmp_path / "bin" / "doorkeeper"
    doorkeeper.write_text(f'#!/bin/sh\nexec {sys.executable} -m doorkeeper "$@"\n')
    doorkeeper.chmod(0o755)
    start = f"export PATH={tmp_path / 'bin'}:$PATH; "
    answers = [("New password: ", "admin-secret"), ("confirmation: ", "admin-secret")]

    made = run_on_terminal(["bash", "-c", start + first], answers=answers, folder=tmp_path)
    server = subprocess.Popen(
        [str(doorkeeper), "serve", "--config", "server.properties"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, server, tmp_path / "server.properties")
        text = f"{start}set -e; {commands}".replace("localhost:9092", address)
        done = run_on_terminal(["bash", "-c", text], answers=answers, folder=tmp_path)
    finally:
        server.terminate()
        server.wait()

    assert made.status == 0, made
    assert done.status == 0, done
    assert "user-principal 'alice' are SCRAM-SHA-256=iterations=8192" in done.stdout
    assert "alice  SCRAM-SHA-256  8192 iterations" in done.stdout
    assert "bob: removed for SCRAM-SHA-256 and SCRAM-SHA-512" in done.stdout


OURS: tuple[tuple[str, str], ...] = (
    ("- list", ""),
    ("- add bob", "bob-secret"),
    ("- add bob", "bob-secret"),
    ("- list --output json", ""),
    ("bob list", ""),
    ("wrong list", ""),
    ("- set-password bob --iterations 16384", "bob-secret"),
    ("- set-password nobody", "x"),
    ("bob add alice", "x"),
    ("- remove bob --mechanism SCRAM-SHA-512", ""),
    ("bob list", ""),
    ("- list", ""),
    ("- remove bob", ""),
    ("- remove bob", ""),
)
"""Commands of ours: who runs them (``-`` for a super user), and the password on standard input."""


def test_users_command_works_with_a_broker(door: Target, tmp_path: Path) -> None:
    """It speaks Kafka's APIs and nothing else."""
    broker = or_skip(lambda: kafka_target(**SCRAM_KEYS))
    file = tmp_path / "client.properties"

    def run(target: Target, line: str, password: str) -> tuple[int, str, str]:
        who, verb, *words = line.split()
        where = [f"kafka://{target.plain}"]
        if who != "-":
            where = [f"kafka://{target.sasl}", "--command-config", str(file)]
            word = "another" if who == "wrong" else "bob-secret"
            file.write_text(
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
                f'sasl.jaas.config={MODULE} required username="bob" password="{word}";\n'
            )
        command = [sys.executable, "-m", "doorkeeper", "users", verb, *where, *words]
        done = subprocess.run(
            command, input=password, capture_output=True, text=True, timeout=scaled(60), check=False
        )
        return done.returncode, done.stdout, done.stderr.replace(target.sasl, "<address>")

    try:
        for line, password in OURS:
            expected, found = run(broker, line, password), run(door, line, password)
            # What a broker acknowledges it applies a little later.
            again = time.monotonic() + SETTLED_S
            while found != expected and " list" in line and time.monotonic() < again:
                expected = run(broker, line, password)
            assert found == expected, line
    finally:
        broker.close()
