"""Users of SCRAM as real tools and clients make them, log in as them, and delete them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import ROOT
from testkit.clients import Client, WrongPython
from testkit.kafka_broker import free_port, wait_for_port
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import kafka_target
from testkit.kafka_tools import Done, KafkaTools, run_on_terminal, write_scripts

if TYPE_CHECKING:
    from testkit.kafka_target import Target

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
SCRAM_KEYS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{MODULE} required;",
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{MODULE} required;",
}
"""A broker needs a login module for each mechanism."""

SETTLED_S = 20

ALICE = "--entity-type users --entity-name alice"
PRINTED = f"bin/kafka-configs.sh --bootstrap-server localhost:9092 {{}} {ALICE}"

CLIENTS = (
    Client(name="confluent-kafka", driver="confluent_kafka_users.py"),
    Client(name="kafka-python-3", driver="kafka_python_3_users.py"),
)


@pytest.fixture
def door(start_target: Callable[..., Target]) -> Iterator[Target]:
    """A server with PLAIN and both kinds of SCRAM; its open listener is an administrator's."""
    found = start_target(**SCRAM_KEYS)
    yield found
    found.close()


def login(
    tools: KafkaTools,
    door: Target,
    folder: Path,
    mechanism: str,
    password: str,
    user: str = "alice",
) -> Done:
    """List ACLs as somebody, with Kafka's own client."""
    file = folder / "client.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={MODULE} required username="{user}" password="{password}";\n'
    )
    where = ("--bootstrap-server", door.sasl, "--command-config", str(file))
    return tools.run("kafka-acls", *where, "--list")


def test_the_documentations_commands_run_as_printed(
    tools: KafkaTools, door: Target, tmp_path: Path
) -> None:
    """Add with iterations, both mechanisms, describe, delete one; alice logs in accordingly."""
    write_scripts(tools.jars, tmp_path / "bin", plain=door.plain, sasl=door.sasl)

    def run(options: str) -> str:
        done = run_on_terminal(["bash", "-c", PRINTED.format(options)], answers=[], folder=tmp_path)
        assert done.status == 0, done
        return done.stdout

    def described() -> set[str]:
        return set(re.findall(r"SCRAM-SHA-\d+=iterations=\d+", run("--describe")))

    add = "--alter --add-config '{}=[iterations=8192,password=alice-secret]'"
    assert run(add.format("SCRAM-SHA-256")) == "Completed updating config for user alice.\n"
    assert run(add.format("SCRAM-SHA-512")) == "Completed updating config for user alice.\n"
    both = {"SCRAM-SHA-256=iterations=8192", "SCRAM-SHA-512=iterations=8192"}
    assert described() == both
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        done = login(tools, door, tmp_path, mechanism, "alice-secret")
        assert "ClusterAuthorizationException" in done.text, done
        wrong = login(tools, door, tmp_path, mechanism, "another")
        assert "invalid credentials with SASL mechanism" in wrong.text, wrong

    deleted = run("--alter --delete-config 'SCRAM-SHA-512'")

    assert deleted == "Completed updating config for user alice.\n"
    assert described() == {"SCRAM-SHA-256=iterations=8192"}
    gone = login(tools, door, tmp_path, "SCRAM-SHA-512", "alice-secret")
    assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in gone.text, gone
    there = login(tools, door, tmp_path, "SCRAM-SHA-256", "alice-secret")
    assert "ClusterAuthorizationException" in there.text, there


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_clients_make_users_and_log_in_as_them(
    client: Client, kafka_tools: Callable[[str], KafkaTools], door: Target
) -> None:
    """A user of Java's making makes another, who then logs in, may nothing, and is deleted."""
    made = kafka_tools("4.3.1").run(
        "kafka-configs",
        *("--bootstrap-server", door.plain, "--alter", "--entity-type", "users"),
        *("--entity-name", "admin", "--add-config", "SCRAM-SHA-512=[password=admin-secret]"),
    )
    assert made.status == 0, made
    bob = {"user": "bob", "mechanism": "SCRAM-SHA-512"}
    admin, as_bob = ("admin", "admin-secret"), ("bob", "bob-s\u00e9cret")

    try:
        results = client.talk(
            door.sasl,
            ("put", bob | {"iterations": 8192, "password": as_bob[1]}),
            ("put", bob | {"mechanism": "SCRAM-SHA-256", "iterations": 4096, "password": "x"}),
            ("put", bob | {"iterations": 4095, "password": "x"}),
            ("users", {}),
            login=admin,
        )
        # Asked for all users, confluent-kafka's process dies of the refusal.
        refused = client.talk(
            door.sasl, ("put", bob | {"iterations": 4096, "password": "x"}), login=as_bob
        )
        deleted = client.talk(
            door.sasl, ("delete", bob), ("delete", bob), ("users", {}), login=admin
        )
        gone = client.talk(door.sasl, ("users", {}), login=as_bob)
    except WrongPython as wrong:
        pytest.skip(str(wrong))
    except Unavailable as missing:
        cannot(str(missing))

    first, second, third, users = results
    assert first == second == {"value": None}
    assert "few iterations" in third["text"].lower(), third
    assert users["value"] == {
        "admin": {"SCRAM-SHA-512": 4096},
        "bob": {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192},
    }
    assert "Request Request(" in refused[0]["text"], refused
    assert deleted[0] == {"value": None}
    assert "does not exist" in deleted[1]["text"], deleted
    assert deleted[2]["value"]["bob"] == {"SCRAM-SHA-256": 4096}
    assert "error" in gone[0], gone
    assert gone[0]["error"] != refused[0]["error"], gone


def test_the_security_pages_example_runs(
    kafka_tools: Callable[[str], KafkaTools], tmp_path: Path
) -> None:
    """Its files and commands, as they stand, but for the port."""
    page = (ROOT / "docs" / "reference" / "security.md").read_text(encoding="utf-8")
    section = page.partition("\n## SCRAM\n")[2].partition("\n## ")[0]
    blocks = [dedent(block) for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE)]
    server_file, first, client_file, commands = blocks
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
    assert "bob: deleted for SCRAM-SHA-256 and SCRAM-SHA-512" in done.stdout


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
    ("- delete bob --mechanism SCRAM-SHA-512", ""),
    ("bob list", ""),
    ("- list", ""),
    ("- delete bob", ""),
    ("- delete bob", ""),
)
"""Commands of ours: who runs them (``-`` for a super user), and the password on standard input."""


def test_our_own_command_says_the_same_of_a_broker(door: Target, tmp_path: Path) -> None:
    """It speaks Kafka's APIs and nothing else."""
    try:
        broker = kafka_target(**SCRAM_KEYS)
    except Unavailable as missing:
        cannot(str(missing))
    file = tmp_path / "client.properties"

    def run(target: Target, line: str, password: str) -> tuple[int, str, str]:
        who, *words = line.split()
        where = ["--bootstrap-server", target.plain]
        if who != "-":
            where = ["--bootstrap-server", target.sasl, "--command-config", str(file)]
            word = "another" if who == "wrong" else "bob-secret"
            file.write_text(
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
                f'sasl.jaas.config={MODULE} required username="bob" password="{word}";\n'
            )
        command = [sys.executable, "-m", "doorkeeper", "users", *words, *where]
        done = subprocess.run(
            command, input=password, capture_output=True, text=True, timeout=60, check=False
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
