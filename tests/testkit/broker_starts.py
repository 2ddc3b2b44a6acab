"""Whether a real node of Kafka starts with a configuration: the shortest way to its answer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from testkit.kafka_broker import free_port, new_cluster_id
from testkit.load import scaled

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.broken_configurations import Variant
    from testkit.kafka_jars import Jars

END_S = 60
STARTED = "Kafka Server started"
LIGHT = ("-Xmx256M", "-Xms64M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""A JVM that lives for two seconds: no second compiler, one collector thread."""

_DEFAULTS = (
    "offsets.topic.num.partitions=1\noffsets.topic.replication.factor=1\n"
    "transaction.state.log.num.partitions=1\ntransaction.state.log.replication.factor=1\n"
    "initial.broker.registration.timeout.ms=12000\nbroker.session.timeout.ms=6000\n"
)


class Started(NamedTuple):
    """The answer of a real node: whether it serves, and the last error of its log."""

    starts: bool
    reason: str


class Starts:
    """Starts nodes one after the other; the storage folder is formatted once."""

    def __init__(self, jars: Jars, folder: Path) -> None:
        self._jars = jars
        self._folder = folder
        self._data = folder / "formatted"
        self._format()

    def _format(self) -> None:
        file = self._folder / "format.properties"
        file.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:1\n"
            f"listeners=PLAINTEXT://localhost:2,CONTROLLER://localhost:1\nlog.dirs={self._data}\n"
            "controller.listener.names=CONTROLLER\n"
        )
        tool = ["java", *LIGHT, "-cp", self._jars.classpath, "kafka.tools.StorageTool", "format"]
        subprocess.run(
            [*tool, "-t", new_cluster_id(), "-c", str(file)], check=True, capture_output=True
        )

    def start(self, variant: Variant, number: int) -> Started:
        """Start a node with a configuration until it serves or ends; then end it."""
        folder = self._folder / f"node-{number}"
        shutil.copytree(self._data, folder / "data")
        file, log = folder / "server.properties", folder / "log.txt"
        file.write_text(f"{self.text_of(variant)}log.dirs={folder / 'data'}\n{_DEFAULTS}")
        options = [f"-Djava.security.krb5.conf={self._folder / 'krb5.conf'}"]
        if variant.jaas:
            (folder / "jaas.conf").write_text(variant.jaas)
            options.append(f"-Djava.security.auth.login.config={folder / 'jaas.conf'}")
        levels = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        started = "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info"
        command = ["java", *LIGHT, *options, levels, started, "-cp", self._jars.classpath]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, "kafka.Kafka", str(file)],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
        try:
            return self._outcome(process, log)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder / "data")

    def text_of(self, variant: Variant) -> str:
        """Return the text with free ports."""
        client, controller = str(free_port()), str(free_port())
        return variant.text.replace("{client}", client).replace("{controller}", controller)

    def _outcome(self, process: subprocess.Popen[bytes], log: Path) -> Started:
        deadline = time.monotonic() + scaled(END_S)
        while time.monotonic() < deadline:
            ended = process.poll() is not None
            text = log.read_text(errors="replace")
            if STARTED in text:
                return Started(starts=True, reason="")
            if ended:
                return Started(starts=False, reason=_reason(text))
            time.sleep(0.05)
        return Started(starts=False, reason=f"not ready: {_reason(log.read_text())}")


def _reason(text: str) -> str:
    lines = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error)\b.*", text, re.MULTILINE)
    return lines[-1][:300] if lines else text[-300:]
