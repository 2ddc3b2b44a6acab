"""The image, built and run without a daemon: what docker/Dockerfile says, by podman."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.podman import Podman, healthy, ready, until
from testkit.serving import Conversation, creation

PYTHON = "/opt/doorkeeper/bin/python"
UID = 10001
PORT = 19099
PROPERTIES = f"""\
listeners=PLAINTEXT://0.0.0.0:9092
advertised.listeners=PLAINTEXT://localhost:{PORT}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir=/var/lib/doorkeeper
doorkeeper.http.listener=http://127.0.0.1:9404
"""

WRITABLE = """
import os
for folder, folders, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")):
        folders.clear()
        continue
    for name in [folder, *(os.path.join(folder, each) for each in files)]:
        if not os.path.islink(name) and os.access(name, os.W_OK):
            print(name)
"""


def config_of(podman: Podman, image: str) -> dict[str, Any]:
    [inspected] = json.loads(podman("image", "inspect", image))
    config: dict[str, Any] = inspected["Config"]
    return {**config, "Healthcheck": inspected["Healthcheck"]}


def run_in(podman: Podman, image: str, *words: str) -> str:
    """Run Python of the image as its own user; return what it prints."""
    command = ("run", "--rm", "--ulimit", "host", "--entrypoint", PYTHON, image, "-I", "-B")
    done = podman.run(*command, *words)
    return done.stdout if done.returncode == 0 else done.stderr


def test_image_configuration(podman: Podman, image: str) -> None:
    config = config_of(podman, image)

    assert config["User"] == f"{UID}:{UID}"
    assert config["Entrypoint"] == [PYTHON, "-I", "-B", "-m", "doorkeeper"]
    assert config["Cmd"] == ["serve", "--config", "/etc/doorkeeper/server.properties"]
    assert config["Healthcheck"]["Test"][:2] == ["CMD", PYTHON]
    assert config["Volumes"] == {"/var/lib/doorkeeper": {}}
    assert config["Labels"]["org.opencontainers.image.version"] == "of-a-test"
    assert not [each for each in config["Env"] if re.search("PASS|TOKEN|SECRET", each)]


def test_only_the_store_is_writable(podman: Podman, image: str) -> None:
    assert run_in(podman, image, "-c", WRITABLE).splitlines() == ["/var/lib/doorkeeper"]
    assert run_in(podman, image, "-m", "doorkeeper", "--version").startswith("doorkeeper")
    assert "No module named pip" in run_in(podman, image, "-m", "pip")


@pytest.fixture
def server(podman: Podman, image: str, tmp_path: Path) -> Iterator[str]:
    """Give a container that serves, over a volume that outlives it."""
    file = tmp_path / "server.properties"
    file.write_text(PROPERTIES)
    file.chmod(0o644)
    mounted = f"{file}:/etc/doorkeeper/server.properties:ro"
    hardened = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
    podman(
        *("run", "--detach", "--ulimit", "host", "--name", "image", *hardened),
        *("--volume", mounted, "--volume", "image-acls:/var/lib/doorkeeper"),
        *("--publish", f"127.0.0.1:{PORT}:9092", image),
    )
    until(lambda: healthy(podman, "image"), lambda: podman.run("logs", "image").stderr)
    until(lambda: ready(podman, "image"), lambda: podman.run("logs", "image").stderr)
    yield "image"
    podman("rm", "--force", "--time", "0", "image")
    podman("volume", "rm", "image-acls")


def test_server_in_the_image_serves_and_drains(podman: Podman, server: str) -> None:
    """It takes an ACL, the probe finds it, SIGTERM ends it with status 0, and the ACL stays."""
    with Conversation(PORT) as client:
        answer = client.call(creation("User:alice"), CreateAclsResponse, 3)
    assert [each.error_code for each in answer.results] == [0]

    podman("stop", "--time", "60", server)

    state = podman.inspect(server)["State"]
    assert state["ExitCode"] == 0
    printed = podman.run("logs", server)
    assert '"stopped"' in printed.stdout + printed.stderr
    podman("start", server)
    until(lambda: ready(podman, server))
    words = ("doorkeeper", "acls", "list", "--bootstrap-server", f"localhost:{PORT}")
    listed = subprocess.run([sys.executable, "-m", *words], capture_output=True, check=True)
    assert b"User:alice" in listed.stdout
