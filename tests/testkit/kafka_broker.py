"""A real Kafka broker (KRaft, one node, StandardAuthorizer) in a temporary folder."""

import base64
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from testkit.kafka_jars import Jars
from testkit.load import scaled

START_S = 60

LOG4J = """
<Configuration status="error">
  <Appenders>
    <Console name="out"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
    <File name="authorizer" fileName="{log}"><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
  </Appenders>
  <Loggers>
    <Root level="warn"><AppenderRef ref="out"/></Root>
    <Logger name="kafka.authorizer.logger" level="trace" additivity="false">
      <AppenderRef ref="authorizer"/>
    </Logger>
  </Loggers>
</Configuration>
"""


def authorizer_log_options(log: Path) -> tuple[str, ...]:
    """Return options for a broker that writes ``kafka-authorizer.log`` whole, in Kafka's layout.

    Its jars must be those of ``logging_by_log4j``.
    """
    config = log.with_suffix(".xml")
    config.write_text(LOG4J.format(log=log))
    return (f"-Dlog4j2.configurationFile={config}", "-Duser.timezone=UTC")


def free_port() -> int:
    """Return a port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(
    port: int, process: subprocess.Popen[bytes], log: Path, start_s: float = START_S
) -> None:
    """Return when something accepts connections on ``port``.

    Raises:
        RuntimeError: the process ended first, or nothing listened in ``start_s``; with its log.
    """
    deadline = time.monotonic() + scaled(start_s)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with socket.create_connection(("localhost", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"port {port}: nothing listens; the log says:\n{log.read_text()[-4000:]}")


def jaas(users: Mapping[str, str]) -> str:
    """Return the PLAIN login module's line for these users and passwords, on one line."""
    words = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {words};"


def new_cluster_id() -> str:
    """Return an id for the storage tool."""
    # The first byte is below 0xF8: the tool takes an id that begins with - for an option.
    drawn = bytes([secrets.randbelow(0xF8)]) + secrets.token_bytes(15)
    return base64.urlsafe_b64encode(drawn).decode().rstrip("=")


class KafkaBroker:
    """One broker; ``start`` returns when it serves, ``stop`` leaves nothing behind."""

    def __init__(
        self,
        jars: Jars,
        *,
        users: Mapping[str, str],
        overrides: Mapping[str, str],
        audit_level: str = "warn",
        options: tuple[str, ...] = (),
        node_id: int = 1,
        heap: str = "512M",
    ) -> None:
        self.node_id = node_id
        self.plain_port = free_port()
        self.controller_port = free_port()
        self.sasl_port = free_port()
        self._jars = jars
        self._audit_level = audit_level
        self._options = options
        self._heap = heap
        self._folder = Path(tempfile.mkdtemp(prefix="kafka-broker-"))
        self.log = self._folder / "log.txt"
        self.properties = self._folder / "server.properties"
        self._properties = {**self._defaults(users), **overrides}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Format the storage folder, start, and wait until the broker takes connections."""
        self.format(new_cluster_id())
        self.launch()
        self.wait()

    def format(self, cluster_id: str, overrides: Mapping[str, str] | None = None) -> None:
        """Write the configuration, and format the storage folder."""
        whole = {**self._properties, **(overrides or {})}
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in whole.items()))
        tool = ["java", "-cp", self._jars.classpath, "kafka.tools.StorageTool", "format"]
        subprocess.run(
            [*tool, "-t", cluster_id, "-c", str(self.properties)],
            check=True,
            capture_output=True,
        )

    def launch(self) -> None:
        """Start on a formatted folder, as after ``kill`` too."""
        memory = (f"-Xmx{self._heap}", f"-Xms{self._heap}")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("java", *memory, "-XX:+UseG1GC", *self._options),
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                    "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=" + self._audit_level,
                    *("-cp", self._jars.classpath, "kafka.Kafka", str(self.properties)),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def wait(self, start_s: float = START_S) -> None:
        """Wait until all listeners take connections; of several controllers, most must run."""
        assert self._process is not None, "it was launched"
        addresses = re.findall(r"^listeners=(.*)$", self.properties.read_text(), re.MULTILINE)[0]
        for address in addresses.split(","):
            wait_for_port(int(address.rpartition(":")[2]), self._process, self.log, start_s)

    def kill(self) -> None:
        """End the broker at once; its data stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Kill the broker and delete its folder."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _defaults(self, users: Mapping[str, str]) -> dict[str, str]:
        controller = f"localhost:{self.controller_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.quorum.voters": f"{self.node_id}@{controller}",
            **listeners(self.plain_port, self.sasl_port, self.controller_port),
            "listener.name.sasl.plain.sasl.jaas.config": jaas(users),
            "sasl.enabled.mechanisms": "PLAIN",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
        }


def listeners(plain: int, sasl: int, controller: int) -> dict[str, str]:
    """Return the keys of the three listeners that every target of the suites has."""
    open_ = f"PLAINTEXT://localhost:{plain},SASL://localhost:{sasl}"
    return {
        "listeners": f"{open_},CONTROLLER://localhost:{controller}",
        "advertised.listeners": open_,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"
        ),
    }
