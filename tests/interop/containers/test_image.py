"""The image, built and run without a daemon: what docker/Dockerfile says, by buildah.

The base is made of the machine's own distribution (debootstrap), once, and kept in ``.cache``;
DOORKEEPER_TEST_BASE names a folder with another root file system that has python3 with venv.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.checkout import ROOT
from testkit.kafka_broker import wait_for_port
from testkit.serving import Conversation, creation

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1200)]

CACHE = ROOT / ".cache" / "image"
NEEDED = ("buildah", "debootstrap")
PYTHON = "/opt/doorkeeper/bin/python"
UID = 10001
PROPERTIES = """\
listeners=PLAINTEXT://127.0.0.1:{kafka}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
doorkeeper.data.dir=/var/lib/doorkeeper
doorkeeper.http.listener=http://127.0.0.1:{http}
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


class Buildah:
    """buildah with a storage of its own, without a daemon and without namespaces."""

    def __init__(self, folder: Path) -> None:
        self._command = ["buildah", "--storage-driver", "vfs"]
        self._command += ["--root", str(folder / "storage"), "--runroot", str(folder / "run")]

    def command(self, *words: str) -> list[str]:
        """Return a command line."""
        return [*self._command, *words]

    def __call__(self, *words: str, timeout_s: int = 900) -> str:
        """Run a command; return what it prints."""
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()


def base_folder() -> Path:
    """Return a root file system with Python; made once."""
    given = os.environ.get("DOORKEEPER_TEST_BASE")
    if given:
        return Path(given)
    folder = CACHE / "base"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        include = "--include=python3,python3-venv,ca-certificates"
        release = re.search(r"VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text())
        assert release is not None
        subprocess.run(
            ["debootstrap", "--variant=minbase", include, release.group(1), str(folder / "root")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (folder / "complete").touch()
    return folder / "root"


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Give buildah; its storage has a gigabyte, and goes with the last test."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(NEEDED)}; not here: {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("buildah")
    yield Buildah(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def image(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the image over the base, with the machine's own settings of pip."""
    base = buildah("from", "scratch")
    buildah("add", "--quiet", base, str(base_folder()), "/")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    buildah("config", "--env", f"PATH={path}", base)
    buildah("commit", "--quiet", "--rm", base, "localhost/base")
    conf = tmp_path_factory.mktemp("pip") / "pip.conf"
    found = [Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf"]
    conf.write_text("\n".join(file.read_text() for file in found if file.exists()) or "[global]\n")
    buildah(
        *("build", "--isolation", "chroot", "--network", "host", "--format", "docker"),
        *("--build-arg", "BASE=localhost/base", "--build-arg", "VERSION=of-a-test"),
        *("--secret", f"id=pipconf,src={conf}", "--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"),
        *("--file", "docker/Dockerfile", "--tag", "localhost/doorkeeper", "."),
    )
    return "localhost/doorkeeper"


@pytest.fixture
def container(buildah: Buildah, image: str) -> Iterator[str]:
    name = buildah("from", "--pull-never", image)
    yield name
    buildah("rm", name)


def config_of(buildah: Buildah, image: str) -> dict[str, Any]:
    inspected = json.loads(buildah("inspect", "--type", "image", image))
    config: dict[str, Any] = inspected["Docker"]["config"]
    return config


def test_the_image_says_how_it_runs(buildah: Buildah, image: str) -> None:
    """No root, no shell, a probe, a volume for the store, and labels."""
    config = config_of(buildah, image)

    assert config["User"] == f"{UID}:{UID}"
    assert config["Entrypoint"] == [PYTHON, "-I", "-B", "-m", "doorkeeper"]
    assert config["Cmd"] == ["serve", "--config", "/etc/doorkeeper/server.properties"]
    assert config["Healthcheck"]["Test"][:2] == ["CMD", PYTHON]
    assert config["Volumes"] == {"/var/lib/doorkeeper": {}}
    assert config["Labels"]["org.opencontainers.image.version"] == "of-a-test"
    assert not [each for each in config["Env"] if re.search("PASS|TOKEN|SECRET", each)]


def test_nothing_but_the_store_can_be_written(buildah: Buildah, container: str) -> None:
    """The server's user owns one folder; its own programs are not its to change."""
    words = ("run", "--isolation", "chroot", "--user", f"{UID}:{UID}", container, "--")

    writable = buildah(*words, PYTHON, "-I", "-B", "-c", WRITABLE).splitlines()

    assert writable == ["/var/lib/doorkeeper"]
    assert buildah(*words, PYTHON, "-I", "-B", "-m", "doorkeeper", "--version")
    with_pip = subprocess.run(
        buildah.command(*words, PYTHON, "-I", "-B", "-m", "pip"), capture_output=True, check=False
    )
    assert b"No module named pip" in with_pip.stderr


def test_a_server_in_it_serves_is_alive_and_drains(
    buildah: Buildah, container: str, tmp_path: Path
) -> None:
    """It takes an ACL, the probe finds it, SIGTERM ends it with status 0, and the ACL stays."""
    kafka, http = free_port(), free_port()
    file = tmp_path / "server.properties"
    file.write_text(PROPERTIES.format(kafka=kafka, http=http))
    file.chmod(0o644)
    words = ("run", "--isolation", "chroot", "--network", "host", "--user", f"{UID}:{UID}")
    mounted = ("--volume", f"{file}:/etc/doorkeeper/server.properties:ro")
    probe = ("--env", f"DOORKEEPER_HEALTH_URL=http://127.0.0.1:{http}/livez")
    serve = config_of(buildah, "localhost/doorkeeper")
    log = tmp_path / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            buildah.command(*words, *mounted, container, "--", *serve["Entrypoint"], *serve["Cmd"]),
            stdout=output,
            stderr=output,
        )
        try:
            wait_for_port(kafka, server, log)
            with Conversation(kafka) as client:
                answer = client.call(creation("User:alice"), CreateAclsResponse, 3)
            assert [each.error_code for each in answer.results] == [0]
            buildah(*words, *probe, container, "--", *serve["Healthcheck"]["Test"][1:])
            pid = served_pid()
            assert Path(f"/proc/{pid}/status").read_text().count(f"\t{UID}\t{UID}") >= 2
            os.kill(pid, 15)
            assert server.wait(60) == 0, log.read_text()
        finally:
            server.kill()
            server.wait()
    assert '"stopped"' in log.read_text()
    listed = buildah(
        *(*words, *mounted, container, "--", *serve["Entrypoint"]),
        *("acls", "list", "--config", "/etc/doorkeeper/server.properties"),
    )
    assert "User:alice" in listed


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def served_pid() -> int:
    """Return the server's process: the one with its command line and the image's user."""
    deadline_s = time.monotonic() + 20
    while time.monotonic() < deadline_s:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                owner = folder.stat().st_uid
            except OSError:
                continue
            if owner == UID and words[0] == PYTHON.encode() and b"serve" in words:
                return int(folder.name)
        time.sleep(0.05)
    raise AssertionError("no server runs")
