"""A Doorkeeper in a process of its own, as an operator starts it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from doorkeeper.acls.entities.model import TopicEntity
from doorkeeper.server.app.stores import initial_rows
from doorkeeper.server.config.loading import load_values
from doorkeeper.server.resources.groups import row_without_partition
from doorkeeper.server.resources.topics.initial import initial_topics
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, TOPIC
from doorkeeper.server.state.storage.sqlite import SqliteStore
from testkit.kafka_broker import wait_for_port
from testkit.load import scaled

STOP_S = 60


class DoorkeeperServer:
    """``doorkeeper serve`` with a configuration of the test's own, in a temporary folder.

    ``properties`` become the server.properties, None starts it without a file; ``ports`` are those
    to wait for. The store begins with ``topics``, and with ``groups`` without members.
    ``start`` may follow ``stop`` or ``kill``: the data folder stays until ``close``.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None,
        *,
        ports: tuple[int, ...],
        groups: Sequence[str] = (),
        topics: Sequence[TopicEntity] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.ports = ports
        self._environment = environment
        self.folder = Path(tempfile.mkdtemp(prefix="doorkeeper-"))
        self.log = self.folder / "log.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._command = [sys.executable, "-m", "doorkeeper", "serve"]
        if properties is not None:
            self._command += ["--config", str(self._configured(properties, groups, topics))]

    def _configured(
        self,
        properties: Mapping[str, str],
        groups: Sequence[str],
        topics: Sequence[TopicEntity],
    ) -> Path:
        whole = {"doorkeeper.data.dir": str(self.folder / "data"), **properties}
        if topics or groups:
            initial = initial_rows(load_values(whole, "the test's").settings)
            rows = {
                **edit(TOPIC, set=initial_topics(topics, os.urandom)),
                **edit(OFFSET, set=map(row_without_partition, groups)),
            }
            folder = self.folder / "data"
            SqliteStore(folder, random_bytes=os.urandom, initial={**initial, **rows}).close()
        config = self.folder / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in whole.items()))
        return config

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start and wait until every port accepts connections.

        Raises:
            RuntimeError: it ended, or did not listen in a minute; with its log.
        """
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env=self._environment,
            )
        for port in self.ports:
            wait_for_port(port, self._process, self.log)

    def stop(self) -> int:
        """Ask it to end (SIGTERM) and return its exit status: 0 when it drained."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(timeout=scaled(STOP_S))
        self._process = None
        return status

    def kill(self) -> None:
        """End it at once (SIGKILL), as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """Leave nothing behind: no process, no folder."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
