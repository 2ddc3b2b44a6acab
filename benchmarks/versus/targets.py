"""Doorkeeper and a Kafka broker as processes that are started, asked, stopped and looked at.

Both have the same three listeners, the same super user (whoever does not log in on PLAINTEXT) and
the same user on SASL. What is on by default is on.
"""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from testkit.kafka_broker import free_port, jaas, listeners
from versus import frames
from versus.worlds import BENCH_USER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from testkit.kafka_jars import Jars

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
PASSWORD: Final = "correct-horse"
MECHANISM: Final = "SCRAM-SHA-256"
START_S: Final = 120
STOP_S: Final = 60
PAUSE_S: Final = 0.001
USERS: Final = {BENCH_USER: PASSWORD}


class Caller:
    """One connection that asks and waits."""

    def __init__(self, port: int, timeout_s: float = 60) -> None:
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """Send a request; return its answer from behind the correlation id on."""
        self.socket.sendall(request)
        return self._exactly(int.from_bytes(self._exactly(4)))[4:]

    def close(self) -> None:
        """End the connection."""
        self.socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the server has closed the connection")
            data += part
        return bytes(data)


class Target:
    """A server. ``start`` gives the seconds to its first answer."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] | None = None
    """None for that of this process."""

    def __init__(self) -> None:
        """Take ports and a folder."""
        self.plain_port, self.sasl_port, self.controller_port = (free_port() for _ in range(3))
        self.folder = Path(tempfile.mkdtemp(prefix=f"{type(self).__name__.lower()}-"))
        self.log = self.folder / "log.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def write_properties(self, own: Mapping[str, str]) -> Path:
        """Write what both have, and what this one has beside."""
        both = {
            "node.id": "1",
            **listeners(self.plain_port, self.sasl_port, self.controller_port),
            "listener.name.sasl.plain.sasl.jaas.config": jaas(USERS),
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
            "authorizer.class.name": STANDARD,
            "super.users": "User:ANONYMOUS",
            "auto.create.topics.enable": "false",
        }
        path = self.folder / "server.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in {**both, **own}.items()))
        return path

    def start(self) -> float:
        """Start; return the seconds until the first answer was read.

        Raises:
            RuntimeError: it ended, or did not answer in two minutes; with its log.

        """
        asked = frames.frame(frames.API_VERSIONS)
        with self.log.open("ab") as log:
            begun_s = time.perf_counter()
            self._process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env=self.environment,
            )
        while self._process.poll() is None and time.perf_counter() - begun_s < START_S:
            try:
                caller = Caller(self.plain_port)
                caller.ask(asked)
            except OSError:
                time.sleep(PAUSE_S)
                continue
            took_s = time.perf_counter() - begun_s
            caller.close()
            return took_s
        raise RuntimeError(f"{self.name} does not serve; its log: {self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def hang_up(self) -> None:
        """Send the signal that makes Doorkeeper read its configuration again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def memory_mb(self) -> float:
        """Return the resident memory, in MB."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(each for each in status.splitlines() if each.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def processor_s(self) -> float:
        """Return the processor time that it has used, in seconds."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Leave nothing: no process, no folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Doorkeeper(Target):
    """Ours, with its store on the same disk."""

    name = "Doorkeeper"

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        """Prepare."""
        super().__init__()
        own = {"doorkeeper.data.dir": str(self.folder / "data"), **(own or {})}
        config = self.write_properties(own)
        self.command = [sys.executable, "-m", "doorkeeper", "serve", "--config", str(config)]
        # From the second start on it has its bytecode, as where it is installed.
        self.environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)


class Kafka(Target):
    """A broker of one node (KRaft) with a heap of 1 GB."""

    name = "Kafka"

    def __init__(self, jars: Jars, own: Mapping[str, str] | None = None) -> None:
        """Prepare, and format the storage."""
        super().__init__()
        config = self.write_properties(
            {
                "process.roles": "broker,controller",
                "controller.quorum.voters": f"1@localhost:{self.controller_port}",
                "inter.broker.listener.name": "PLAINTEXT",
                "log.dirs": str(self.folder / "data"),
                "offsets.topic.replication.factor": "1",
                "offsets.topic.num.partitions": "1",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.num.partitions": "1",
                "group.initial.rebalance.delay.ms": "0",
                **(own or {}),
            }
        )
        # The first byte is below 0xF8: the tool takes an id that begins with - for an option.
        drawn = bytes([secrets.randbelow(0xF8)]) + secrets.token_bytes(15)
        cluster_id = base64.urlsafe_b64encode(drawn).decode().rstrip("=")
        path = f"{jars.lib}/*"
        tool = ["java", "-cp", path, "kafka.tools.StorageTool", "format", "-t", cluster_id]
        subprocess.run([*tool, "-c", str(config)], check=True, capture_output=True)
        self.command = [
            *("java", "-Xmx1G", "-Xms1G", "-XX:+UseG1GC"),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *("-cp", path, "kafka.Kafka", str(config)),
        ]


def settled(target: Target, wanted: bytes, answer: Any, done: Any) -> Any:
    """Ask until the answer is as it shall be: what a broker changes is visible a little later.

    Raises:
        RuntimeError: it did not come to be in a minute.

    """
    caller = Caller(target.plain_port)
    deadline_s = time.monotonic() + START_S
    found = None
    try:
        while time.monotonic() < deadline_s:
            found = frames.decoded(answer, caller.ask(wanted))
            if done(found):
                return found
            time.sleep(0.05)
    finally:
        caller.close()
    raise RuntimeError(f"{target.name}: what was asked for did not come to be: {found!r:.500}")


def load_average() -> float:
    """Return how busy the machine was in the last minute."""
    return os.getloadavg()[0]
