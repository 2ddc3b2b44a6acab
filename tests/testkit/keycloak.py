"""A Keycloak on this machine, with the realm of ``tests/interop/keycloak/realm.json``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import urlopen

from testkit.checkout import ROOT
from testkit.kafka_broker import free_port
from testkit.kafka_jars import other_jars
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POM = ROOT / "tests" / "interop" / "keycloak" / "pom.xml"
START_S = 180.0
CLIENT, SECRET = "console", "secret-of-console"


@contextmanager
def keycloak(folder: Path) -> Iterator[str]:
    """Run Keycloak, and yield the issuer of its realm.

    Raises:
        Unavailable: it cannot be fetched, or Java is missing.
    """
    (archive,) = other_jars(POM).glob("*.zip")
    home = archive.with_suffix("")
    # Its first start, which builds it there, takes a minute.
    if not home.exists():
        with zipfile.ZipFile(archive) as whole:
            whole.extractall(folder)
        next(folder.glob("keycloak-*")).rename(home)
    (home / "data" / "import").mkdir(parents=True, exist_ok=True)
    shutil.copy(POM.with_name("realm.json"), home / "data" / "import" / "kafka-realm.json")
    port, log = free_port(), folder / "log.txt"
    options = [f"--http-port={port}", "--http-host=127.0.0.1", "--db=dev-mem", "--import-realm"]
    command = ["sh", str(home / "bin" / "kc.sh"), "start-dev", *options, "--cache=local"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
        )
    issuer = f"http://localhost:{port}/realms/kafka"
    try:
        _wait_for(process, issuer, log)
        yield issuer
    finally:
        # The script may run a JVM that builds it first.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], issuer: str, log: Path) -> None:
    deadline_s = time.monotonic() + scaled(START_S)
    while True:
        try:
            with urlopen(f"{issuer}/.well-known/openid-configuration"):
                return
        except OSError:
            text = log.read_text("utf-8", "replace")[-2000:]
            assert process.poll() is None, f"Keycloak has ended:\n{text}"
            assert time.monotonic() < deadline_s, f"Keycloak does not answer:\n{text}"
            time.sleep(0.5)
