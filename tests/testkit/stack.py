"""The stack of docker/compose.yaml in containers: a copy of its files, its secrets, its nodes."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.client import AdminClient
from doorkeeper.client.properties import client_config
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.checkout import ROOT
from testkit.load import scaled
from testkit.podman import Compose, Podman, healthy, ready, until
from testkit.serving import creation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

NODES: Final = ("node-1", "node-2")
PORTS: Final = {"node-1": 19091, "node-2": 19092}
OTHERS: Final = ("postgres", "prometheus")


class Stack(Compose):
    """Both nodes, their database and Prometheus; Grafana's image is not to be had everywhere."""

    def __init__(self, podman: Podman, folder: Path, version: str = "latest") -> None:
        """Copy docker/ to a folder, so that nobody's own secrets are used."""
        self._folder = folder / "docker"
        shutil.copytree(
            ROOT / "docker", self._folder, ignore=shutil.ignore_patterns("secrets", "__pycache__")
        )
        script = self._folder / "make-secrets"
        subprocess.run([script], check=True, capture_output=True)
        super().__init__(
            podman,
            self._folder / "compose.yaml",
            DOORKEEPER_VERSION=version,
            DOORKEEPER_STORE_CREATE="true",
            POSTGRES_IMAGE=podman.stand_in("postgres"),
            PROMETHEUS_IMAGE=podman.stand_in("prometheus"),
        )

    @property
    def admin(self) -> Path:
        """The login of the administrator, for Kafka's tools."""
        return self._folder / "secrets" / "admin.properties"

    def start(self) -> None:
        """Start all in the order of ``depends_on``, whose conditions older podmans ignore."""
        for service in ("postgres", *NODES, "prometheus"):
            self.up(service)
            self.wait(service)

    def container(self, service: str) -> str:
        """Return the name of a container."""
        return f"doorkeeper_{service}_1"

    def wait(self, *services: str) -> None:
        """Wait until their own probes succeed, and nodes are ready for clients."""
        for each in services:
            name, logs = self.container(each), partial(self.logs, each)
            until(partial(healthy, self.podman, name), logs)
            if each in NODES:
                until(partial(ready, self.podman, name, "https://127.0.0.1:9404/readyz"), logs)

    def logs(self, service: str) -> str:
        """Return the end of what a container printed."""
        done = self.podman.run("logs", "--tail", "30", self.container(service))
        return done.stdout + done.stderr

    def add(self, node: str, principals: Sequence[str]) -> list[int]:
        """Let principals read the topic orders, by one request; return Kafka's error of each."""

        async def added() -> list[int]:
            config = client_config(f"localhost:{PORTS[node]}", self.admin)
            async with AdminClient(config) as admin:
                answer = await admin.call(creation(*principals), CreateAclsResponse)
                return [each.error_code for each in answer.results]

        return asyncio.run(added())

    def lists(self, node: str, names: AbstractSet[str]) -> bool:
        """Tell if a node says that all of them may read the topic orders."""
        return names <= self.readers(node)

    def readers(self, node: str) -> set[str]:
        """Return who may read the topic orders, as a node says."""

        async def described() -> set[str]:
            config = client_config(f"localhost:{PORTS[node]}", self.admin)
            async with AdminClient(config) as admin:
                return {each.entry.principal for each in await admin.describe_acls()}

        return asyncio.run(described())


def asked(path: str) -> Any:
    """Ask Prometheus."""
    with urllib.request.urlopen(
        f"http://127.0.0.1:9090/api/v1/{path}", timeout=scaled(30)
    ) as answer:
        return json.load(answer)["data"]
