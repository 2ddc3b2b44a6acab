"""Foreign client libraries, each in a locked environment of its own, driven as subprocesses.

The locks stand beside the drivers (tests/interop/clients); the environments are made under
``.venv-clients/`` when a test first needs one, and again when a lock changes.
"""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testkit.kafka_jars import PROJECT, Unavailable
from testkit.load import scaled

DRIVERS = PROJECT / "tests" / "interop" / "clients"
ENVIRONMENTS = PROJECT / ".venv-clients"

INSTALL_S = 300
CONVERSATION_S = 60


class WrongPython(Exception):
    """The client does not run on this Python; the text says on which it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One release of a client library and the program that drives it."""

    name: str
    driver: str
    python: str | None = None
    """The only Python that it runs on, like "3.11"; None for any."""

    @property
    def is_node(self) -> bool:
        """Whether it runs on Node.js, not on Python."""
        return self.driver.endswith(".js")

    def talk(
        self,
        bootstrap: str,
        *operations: tuple[str, Mapping[str, Any]],
        login: tuple[str, str] | None = None,
        config: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Hold one conversation and return its results, as ``conversation.py`` describes it.

        ``config`` are keys of the library's own, for drivers that take them.

        Raises:
            Unavailable: the environment cannot be made on this machine.
            WrongPython: see ``python``.
        """
        user, password = login or (None, None)
        script = {
            "bootstrap": bootstrap,
            "user": user,
            "password": password,
            "config": config or {},
            "do": operations,
        }
        done = subprocess.run(
            self.command(DRIVERS / self.driver),
            input=json.dumps(script),
            capture_output=True,
            text=True,
            timeout=scaled(CONVERSATION_S),
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{self.name} ended with {done.returncode}: {done.stderr[-2000:]}")
        results: list[Any] = json.loads(done.stdout)["results"]
        return results

    def site_packages(self) -> Path:
        """Return where the library is, for tests that import it; it is installed if need be.

        Raises:
            Unavailable: the environment cannot be made on this machine.
            WrongPython: see ``python``.
        """
        (found,) = self._environment().glob("lib/python3*/site-packages")
        return found

    def command(self, program: Path) -> list[str]:
        """Return the words that run a program of ours with the library; it is installed if need be.

        Raises:
            Unavailable: the environment cannot be made on this machine.
            WrongPython: see ``python``.
        """
        folder = self._environment()
        if self.is_node:
            return ["node", str(program), str(folder)]
        return [str(folder / "bin" / "python"), str(program)]

    def _environment(self) -> Path:
        folder = ENVIRONMENTS / self.name
        ENVIRONMENTS.mkdir(exist_ok=True)
        with (ENVIRONMENTS / f"{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = folder / "stamp"
            wanted = self._wanted()
            if not (stamp.exists() and stamp.read_text() == wanted):
                shutil.rmtree(folder, ignore_errors=True)
                if self.is_node:
                    _install_node(folder, DRIVERS / self.name)
                else:
                    _install_python(folder, self._interpreter(), self._lock_file())
                stamp.write_text(wanted)
        return folder

    def _lock_file(self) -> Path:
        if self.is_node:
            return DRIVERS / self.name / "package-lock.json"
        return DRIVERS / "requirements" / f"{self.name}.txt"

    def _wanted(self) -> str:
        digest = hashlib.sha256(self._lock_file().read_bytes()).hexdigest()
        return f"{digest} {'node' if self.is_node else self._interpreter()}"

    def _interpreter(self) -> str:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self.python in {None, here}:
            return sys.executable
        raise WrongPython(f"{self.name} runs on Python {self.python} only, not on {here}")


CLIENTS: Sequence[Client] = (
    Client(name="kafka-python-3", driver="kafka_python_3.py"),
    Client(name="kafka-python-2.0.2", driver="kafka_python_2.py", python="3.11"),
    Client(name="confluent-kafka", driver="confluent_kafka_admin.py"),
    Client(name="aiokafka", driver="aiokafka_admin.py"),
    Client(name="kafkajs", driver="kafkajs/driver.js"),
)


def _install_python(folder: Path, interpreter: str, lock_file: Path) -> None:
    run([interpreter, "-m", "venv", "--without-pip", str(folder)])
    run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"),
            *("--no-binary", "pyspark"),  # of which there are no wheels
            *("--require-hashes", "-r", str(lock_file)),
        ]
    )


def _install_node(folder: Path, source: Path) -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed (make setup-system)")
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(source / name, folder / name)
    run(["npm", "ci", "--prefix", str(folder)])


def run(
    words: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Run a command that installs or builds something.

    Raises:
        Unavailable: it failed; with what it wrote.
    """
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=scaled(INSTALL_S),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{words[0]} took more than {INSTALL_S} s: {words}") from error
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(words)}: {done.stderr.strip()[-400:]}")
