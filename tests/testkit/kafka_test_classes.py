"""Kafka's own test classes, unchanged, against servers that this process starts for them.

The Java side (``tests/conformance/kafka/broker_tests``) replaces the classes that start brokers
inside the JVM. It asks a launcher here, by lines of JSON over a socket, for a cluster of servers;
nodes of one cluster share a PostgreSQL database.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from testkit.checkout import ROOT
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import free_port
from testkit.kafka_jars import ORACLES, jars
from testkit.kafka_test_plugins import HARNESS, HARNESS_BUILDER, STAND_INS
from testkit.load import scaled
from testkit.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAM = ORACLES / "broker_tests"
RELEASE = "4.3.1-tests"
"""The folder of the pom with Kafka's test jars."""

HEARTBEATS = {"broker.heartbeat.interval.ms": "200", "broker.session.timeout.ms": "1500"}
"""A node that a test stops is gone for the others soon."""

RUN_S = 3600

WITH_RECORDS = frozenset(
    {
        "kafka.api.AuthorizerIntegrationTest",
        "org.apache.kafka.clients.security.GroupAuthorizerIntegrationTest",
    }
)
"""Classes that produce and consume: their server, of one node, is a test broker."""

_PROTOCOLS = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
_PLUGIN_KEYS = {
    "authorizer.class.name",
    "create.topic.policy.class.name",
    "principal.builder.class",
}

_LISTENER = re.compile(r"([A-Za-z0-9_]+)://([^:,]*):0")
_COUNTS = re.compile(r"\[\d+\]")


class Result(NamedTuple):
    """The outcome of one test: ``passed``, ``failed`` or ``skipped``, and the reason."""

    test: str
    outcome: str
    text: str


@dataclass
class _Cluster:
    servers: dict[int, DoorkeeperServer] = field(default_factory=dict)
    ports: dict[int, dict[str, int]] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    resources: ExitStack = field(default_factory=ExitStack)


class Launcher:
    """Starts and stops servers for one JVM; close it to stop all of them."""

    def __init__(self, log: Path, *, records: bool) -> None:
        """Listen for the JVM; ``log`` gets what the servers logged.

        ``records`` makes test brokers of them.
        """
        self._log = log
        self._records = {"doorkeeper.test.broker": str(records).lower()}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._clusters: list[_Cluster] = []
        self._postgres: Postgres | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop all servers and the database."""
        self._listener.close()
        for cluster in self._clusters:
            cluster.resources.close()
        if self._postgres is not None:
            self._postgres.close()

    def _serve(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rw", encoding="utf-8") as lines:
            for line in lines:
                try:
                    reply = self._answer(json.loads(line))
                except Exception as error:  # the test that asked must hear of it
                    reply = {"error": f"{type(error).__name__}: {error}"}
                lines.write(json.dumps(reply) + "\n")
                lines.flush()

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["op"] == "create":
            return {"cluster": self._create(request["nodes"])}
        cluster = self._clusters[request["cluster"]]
        if request["op"] == "close":
            cluster.resources.close()
            return {}
        node = request["node"]
        if request["op"] == "add":
            self._add(cluster, node, request["properties"])
            return {}
        if request["op"] == "start":
            cluster.servers[node].start()
            return {"ports": cluster.ports[node]}
        cluster.servers[node].stop()
        return {}

    def _create(self, nodes: int) -> int:
        cluster = _Cluster()
        if nodes > 1:
            database = self._database().create_database()
            cluster.resources.callback(database.drop)
            cluster.shared = {"doorkeeper.store": database.url(), **HEARTBEATS}
        self._clusters.append(cluster)
        return len(self._clusters) - 1

    def _add(self, cluster: _Cluster, node: int, properties: Mapping[str, str]) -> None:
        ports: dict[str, int] = {}
        whole = _with_harness({**properties, **self._records, **cluster.shared})
        whole["listeners"] = _with_ports(whole["listeners"], ports)
        # Ports of advertised listeners are those that were chosen.
        whole.pop("advertised.listeners", None)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        if (kerberos := whole.pop("java.security.krb5.conf", None)) is not None:
            environment["KRB5_CONFIG"] = kerberos
        server = DoorkeeperServer(whole, ports=tuple(ports.values()), environment=environment)
        cluster.resources.callback(self._close, server)
        cluster.servers[node] = server
        cluster.ports[node] = ports

    def _close(self, server: DoorkeeperServer) -> None:
        with self._log.open("a") as log:
            log.write(server.log.read_text() if server.log.exists() else "")
        server.close()

    def _database(self) -> Postgres:
        if self._postgres is None:
            # Some tests have six nodes, and a database counts connections of the one before.
            self._postgres = Postgres(settings={"max_connections": "200"})
            self._postgres.start()
        return self._postgres


def _with_harness(properties: dict[str, str]) -> dict[str, str]:
    """Return the properties with Python's plug-ins, and with a listener for the objects of brokers.

    A test's own listeners may demand a login, or have a user who may not see what such an object
    shows.
    """
    for key in _PLUGIN_KEYS & properties.keys():
        properties[key] = STAND_INS.get(properties[key], properties[key])
    protocols = properties.get("listener.security.protocol.map", _PROTOCOLS)
    super_users = [properties["super.users"]] if properties.get("super.users") else []
    return {
        "doorkeeper.kafka.release": "4.3",
        **properties,
        "listeners": f"{properties['listeners']},HARNESS://localhost:0",
        "listener.security.protocol.map": f"{protocols},HARNESS:PLAINTEXT",
        "listener.name.harness.principal.builder.class": HARNESS_BUILDER,
        "super.users": ";".join([*super_users, str(HARNESS)]),
    }


def _with_ports(listeners: str, ports: dict[str, int]) -> str:
    """Return listeners with a free port for each port 0, which ``ports`` then has by name."""

    def chosen(match: re.Match[str]) -> str:
        ports[match[1]] = free_port()
        return f"{match[1]}://{match[2]}:{ports[match[1]]}"

    return _LISTENER.sub(chosen, listeners)


def run(classes: Sequence[str], log: Path) -> list[Result]:
    """Run classes of Kafka's tests in one JVM, whose standard error goes to ``log``.

    Raises:
        Unavailable: no Java, no Maven, or Maven could not reach a registry.

    """
    program = jars(RELEASE, PROGRAM)
    launcher = Launcher(log.with_name("servers.txt"), records=set(classes) <= WITH_RECORDS)
    try:
        with log.open("wb") as errors:
            done = subprocess.run(
                [
                    "java",
                    "-Xmx1g",
                    # Kafka's MiniKdc sets fields of the JDK's Kerberos.
                    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
                    f"-Ddoorkeeper.launcher.port={launcher.port}",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                    *("-cp", program.classpath, "doorkeeper.conformance.RunTests", *classes),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=log.parent,
                timeout=scaled(RUN_S),
                check=True,
            )
    finally:
        launcher.close()
    return list(_results(done.stdout.decode()))


def _results(output: str) -> Iterator[Result]:
    for line in output.splitlines():
        if line.startswith('{"test"'):
            yield Result(**json.loads(line))
