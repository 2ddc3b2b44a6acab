"""The nodes of docker/compose.yaml with their own files, over a real PostgreSQL, but no containers.

Only addresses and ports are other ones than in the stack.
"""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from testkit.checkout import ROOT
from testkit.http_port import Reply, ask
from testkit.kafka_broker import free_port
from testkit.or_skip import or_skip
from testkit.postgres import Postgres
from testkit.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

PATIENCE_S = 60


class Node(NamedTuple):
    """A node that runs, and where it is."""

    server: Serving
    kafka: int
    http: int
    secrets: Path

    def page(self, path: str) -> Reply:
        """Ask the operations port as Prometheus does: by the authority, with the token."""
        token = (self.secrets / "ops.token").read_text().strip()
        tls = ssl.create_default_context(cafile=str(self.secrets / "ca.pem"))
        headers = {"Authorization": f"Bearer {token}"}
        return asyncio.run(ask(self.http, path, headers=headers, tls=tls))

    def value(self, name: str, **labels: str) -> float | None:
        """Return a sample of its metrics."""
        return self.page("/metrics").value(name, **labels)

    def command(self, *words: str) -> str:
        """Run kafka-acls.sh's questions with the login that make-secrets wrote."""
        done = subprocess.run(
            [
                *(sys.executable, "-m", "doorkeeper", "acls", *words),
                *("--bootstrap-server", f"localhost:{self.kafka}"),
                *("--command-config", str(self.secrets / "admin.properties")),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class Stack(NamedTuple):
    """Both nodes, and their database."""

    nodes: tuple[Node, Node]
    postgres: Postgres


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.05)


TLS = "sslmode=verify-full&sslrootcert=/run/secrets/ca.pem"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    secrets = tmp_path / "secrets"
    subprocess.run([ROOT / "docker" / "make-secrets", secrets], check=True, capture_output=True)
    postgres = or_skip(
        lambda: Postgres(password=(secrets / "postgres.password").read_text().strip())
    )
    with ExitStack() as running:
        running.enter_context(postgres)
        where = postgres.create_database().url().partition("@")[2]
        nodes = [node(number, secrets, where, tmp_path, running) for number in (1, 2)]
        for each in nodes:
            each.server.line("started")
        yield Stack((nodes[0], nodes[1]), postgres)


def node(number: int, secrets: Path, where: str, folder: Path, running: ExitStack) -> Node:
    """Start a node with its file of the stack."""
    inside, outside, http = free_port(), free_port(), free_port()
    text = (ROOT / "docker" / f"node-{number}.properties").read_text()
    for old, new in (
        # The database of this test has no certificate for the name postgres.
        (f"@postgres:5432/doorkeeper?{TLS}", f"@{where}"),
        ("/run/secrets/", f"{secrets}/"),
        ("data.dir=/var/lib/doorkeeper", f"data.dir={folder / f'data-{number}'}"),
        ("INSIDE://0.0.0.0:9092", f"INSIDE://127.0.0.1:{inside}"),
        (f"OUTSIDE://0.0.0.0:1909{number}", f"OUTSIDE://127.0.0.1:{outside}"),
        (f"OUTSIDE://localhost:1909{number}", f"OUTSIDE://localhost:{outside}"),
        ("https://0.0.0.0:9404", f"https://0.0.0.0:{http}"),
    ):
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    own = folder / f"node-{number}"
    own.mkdir()
    (own / "server.properties").write_text(text)
    server = running.enter_context(Serving(own, "--config", "server.properties"))
    return Node(server, outside, http, secrets)


def test_both_nodes_form_one_cluster(stack: Stack) -> None:
    first, second = stack.nodes

    for each in stack.nodes:
        until(lambda each=each: each.value("doorkeeper_nodes") == 2)  # type: ignore[misc]
        assert each.page("/readyz").status == 200
    assert sum(each.value("doorkeeper_is_controller") or 0 for each in stack.nodes) == 1
    words = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    first.command("add", *words)
    until(lambda: second.value("doorkeeper_acls") == 1)

    assert "User:alice" in second.command("list")
    page = second.page("/metrics")
    assert page.value("doorkeeper_revision") == page.value("doorkeeper_head_revision")
    assert page.value("doorkeeper_store_reachable") == 1
    assert first.value("doorkeeper_store_commits_total", result="stored") == 1
    assert first.value("doorkeeper_authentications_total", mechanism="PLAIN", result="succeeded")
    assert second.value("doorkeeper_metric_faults_total") == 0
    for each in stack.nodes:
        assert each.server.stop() == 0


def test_database_outage_is_reported_and_survived(stack: Stack) -> None:
    first, second = stack.nodes

    stack.postgres.stop()
    for each in stack.nodes:
        until(lambda each=each: each.value("doorkeeper_store_reachable") == 0)  # type: ignore[misc]
    until(lambda: (first.value("doorkeeper_snapshot_age_seconds") or 0) > 0.5)
    ready = first.page("/readyz")
    assert ready.status == 200
    assert ready.json["checks"]["store"]["detail"].startswith("not reachable")
    assert first.command("list").strip() == second.command("list").strip()
    stack.postgres.start()

    for each in stack.nodes:
        until(lambda each=each: each.value("doorkeeper_store_reachable") == 1)  # type: ignore[misc]
    assert (first.value("doorkeeper_store_reconnects_total") or 0) >= 1
