"""Containers without a daemon: podman with a storage of its own, and the images that tests need.

The base is made of the machine's own distribution (debootstrap), once, and kept in ``.cache`` with
all images; DOORKEEPER_TEST_BASE names a folder with another root file system that has python3 with
venv. No registry of images is asked.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from testkit.checkout import ROOT
from testkit.kafka_jars import Unavailable
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDED: Final = ("podman", "runc", "debootstrap")
BASE: Final = "localhost/base"
SERVER: Final = "localhost/doorkeeper"
IMAGES: Final = ROOT / "tests" / "interop" / "containers"
"""Folders with the Dockerfiles of the images that stand for public ones."""

BUILD_S: Final = 1800
COMMAND_S: Final = 300
PATIENCE_S: Final = 240
"""What is seconds on a quiet machine."""

SETTINGS: Final = """\
[containers]
default_ulimits = []
[network]
network_config_dir = "{folder}/networks"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
[engine.runtimes]
runc = ["{runc}"]
"""
# Of a file system in which overlay cannot stand on itself, podman says so at the first command.
STORAGE: Final = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


class Podman:
    """Podman as root, by runc; one process of tests at a time uses its folder."""

    def __init__(self, folder: Path = ROOT / ".cache" / "containers") -> None:
        """Raise Unavailable where a program or the right is missing."""
        path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
        missing = [name for name in NEEDED if shutil.which(name, path=path) is None]
        if missing or os.geteuid() != 0:
            raise Unavailable(
                "containers: need root and scripts/setup-system containers;"
                f" not here: {', '.join(missing) or 'root'}"
            )
        self.folder = folder
        for name in ("networks", "tmp", "storage", "run"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        runc = shutil.which("runc", path=path)
        (folder / "containers.conf").write_text(SETTINGS.format(folder=folder, runc=runc))
        (folder / "storage.conf").write_text(STORAGE.format(folder=folder))
        self.environment = {
            **os.environ,
            "PATH": path,
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        }
        self._remove_all()

    def close(self) -> None:
        """Remove all containers and volumes; images stay."""
        self._remove_all()
        self._lock.close()

    def _remove_all(self) -> None:
        # One that others depend on is refused while they restart.
        until(lambda: self.run("rm", "--all", "--force", "--time", "0").returncode == 0)
        self("volume", "prune", "--force")

    def run(self, *words: str, timeout_s: float = COMMAND_S) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            ["podman", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            cwd=ROOT,
        )

    def __call__(self, *words: str, timeout_s: float = COMMAND_S) -> str:
        """Run a command that succeeds; return what it prints."""
        done = self.run(*words, timeout_s=timeout_s)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def inspect(self, name: str) -> dict[str, Any]:
        """Return what is known of a container."""
        [found] = json.loads(self("container", "inspect", name))
        return dict(found)

    def has(self, image: str) -> bool:
        """Tell if an image is here."""
        return self.run("image", "exists", image).returncode == 0

    def base(self) -> str:
        """Return the image with Python that others begin with; made once."""
        if not self.has(BASE):
            given = os.environ.get("DOORKEEPER_TEST_BASE")
            root = Path(given) if given else self._bootstrapped()
            path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            archive = self.folder / "base.tar"
            subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
            self("import", "--change", f"ENV {path}", str(archive), BASE, timeout_s=scaled(BUILD_S))
            archive.unlink()
            if not given:
                shutil.rmtree(root)
        return BASE

    def _bootstrapped(self) -> Path:
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        release = re.search(r"VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text())
        assert release is not None
        sites = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(SITE)", f"Codename: {release.group(1)}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        done = subprocess.run(
            [
                *("debootstrap", "--variant=minbase"),
                "--include=python3,python3-venv,ca-certificates",
                *(release.group(1), root, *sites[:1]),
            ],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        return root

    def build(self, tag: str, context: Path, *words: str) -> str:
        """Build an image over the base; return its name."""
        self(
            *("build", "--isolation", "chroot", "--network", "host", "--format", "docker"),
            *("--ulimit", "nofile=20000:20000", "--build-arg", f"BASE={self.base()}"),
            *("--tag", tag, *words, str(context)),
            timeout_s=scaled(BUILD_S),
        )
        return tag

    def _build_server(self, tag: str, context: Path, *words: str) -> str:
        """Build an image of the server, with the machine's own settings of pip and authorities."""
        conf = self.folder / "pip.conf"
        found = [Path("/etc/pip.conf"), Path.home() / ".config/pip/pip.conf"]
        text = "\n".join(file.read_text() for file in found if file.exists())
        conf.write_text(text or "[global]\n")
        certificates = ("--volume", "/etc/ssl/certs:/etc/ssl/certs:ro")
        secret = ("--secret", f"id=pipconf,src={conf}")
        file = ("--file", str(context / "docker" / "Dockerfile"))
        return self.build(tag, context, *certificates, *secret, *file, *words)

    def server_image(self) -> str:
        """Return the image of this checkout."""
        return self._build_server(f"{SERVER}:latest", ROOT, "--build-arg", "VERSION=of-a-test")

    def server_image_of(self, commit: str) -> str:
        """Return the image of an earlier commit, by its own Dockerfile; skips without it in git."""
        tag = f"{SERVER}:{commit}"
        if not self.has(tag):
            command = ["git", "archive", "--format=tar", commit]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
            if done.returncode != 0:
                raise Unavailable(f"git does not have the commit {commit}")
            folder = self.folder / "commit"
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
                archive.extractall(folder, filter="data")
            self._build_server(tag, folder)
            shutil.rmtree(folder)
        return tag

    def stand_in(self, name: str) -> str:
        """Return the image that stands for a public one: postgres or prometheus; made once."""
        return self.build(f"localhost/{name}:test", IMAGES / name)


class Compose:
    """A file of Compose that podman-compose runs."""

    def __init__(self, podman: Podman, file: Path, **environment: str) -> None:
        """Take the file, and the values of its variables."""
        program = Path(sys.executable).with_name("podman-compose")
        if not program.exists():
            raise Unavailable("podman-compose: not installed (scripts/environment interop)")
        self.podman = podman
        self.environment = {**podman.environment, **environment}
        # Limits of files are the machine's: it may not let a container raise its own. Podman adds
        # folders that can be written to a read-only root, which Docker does not.
        words = "--ulimit host --read-only-tmpfs=false"
        self._command = [str(program), f"--podman-run-args={words}", "--file", str(file)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.call("down", "--volumes", "--timeout", "5")

    def call(self, *words: str) -> str:
        """Run a command that succeeds; return all that it prints."""
        done = subprocess.run(
            [*self._command, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=scaled(COMMAND_S),
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def up(self, *services: str) -> None:
        """Make and start services, from images that are here."""
        self.call("up", "--detach", "--no-build", *services)


def until(true: Callable[[], object], fails: Callable[[], str] = str) -> None:
    """Wait until something is true; ``fails`` tells what is instead."""
    deadline_s = time.monotonic() + scaled(PATIENCE_S)
    while not true():
        assert time.monotonic() < deadline_s, fails() or "it did not come"
        time.sleep(0.2)


def healthy(podman: Podman, name: str) -> bool:
    """Tell if the container's own probe succeeds; without systemd it is run by hand."""
    return podman.run("healthcheck", "run", name).returncode == 0


def ready(podman: Podman, name: str, url: str = "http://127.0.0.1:9404/readyz") -> bool:
    """Tell if a server in a container takes Kafka's clients; /livez answers before it does."""
    program = ("/opt/doorkeeper/bin/python", "-I", "-B", "/opt/doorkeeper/healthcheck.py")
    asked = podman.run("exec", "--env", f"DOORKEEPER_HEALTH_URL={url}", name, *program)
    return asked.returncode == 0
