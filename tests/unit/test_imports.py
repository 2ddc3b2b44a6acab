"""What starting imports: time to the first answer is a promise, and imports are most of it.

Each test starts a fresh interpreter, which lists the modules it holds when it ends.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COMMAND_LINE = {"click"}
"""What ``import doorkeeper.cli`` may load from others."""

SERVING = COMMAND_LINE | {
    *("apsw", "immutables", "msgspec", "structlog", "typing_extensions", "uvloop", "yaml"),
}
"""What ``doorkeeper serve`` may load from others until it answers, and no more."""

HEAVY = {
    "argparse", "concurrent.futures.process", "ctypes", "doorkeeper.acls.explanation",
    "doorkeeper.acls.formats", "doorkeeper.client", "doorkeeper.server.api.unserved",
    "doorkeeper.server.operations.audit", "doorkeeper.server.operations.http",
    "doorkeeper.server.security.gssapi",
    "doorkeeper.server.security.java_regex", "doorkeeper.server.security.oauth",
    "doorkeeper.server.security.tls.context", "doorkeeper.server.state.postgres",
    "doorkeeper.server.state.storage.backup", "doorkeeper.sync", "doorkeeper.testing",
    "doorkeeper_wire.declared", "email", "http", "importlib.metadata",
    "importlib.resources", "logging.config", "logging.handlers", "multiprocessing", "random",
    "secrets", "shutil", "sqlite3", "tempfile", "unittest", "urllib.request", "xml", "zipfile",
}  # fmt: skip
"""What a server in clear, or with users and no TLS, needs nothing of: imported where something asks
for it. A configuration file does: what reads Java's format imports XML, HTTP and mail."""

OURS = {"doorkeeper", "doorkeeper_wire"}

# Python's own site set-up, which happens before the first line of ours.
NOT_OURS_TO_CHOOSE = re.compile(r"__editable__|_virtualenv|_distutils_hack|sitecustomize")

LISTING = """
import atexit, runpy, sys

def list_modules(path=sys.argv.pop(1)):
    loaded = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\\n" for name in loaded)

atexit.register(list_modules)
"""
"""Lists what was imported; a package that somebody looked for and did not find is none of it."""


def modules(report: Path) -> set[str]:
    """Return all modules that a list names."""
    return set(report.read_text(encoding="utf-8").split())


def foreign_packages(report: Path) -> set[str]:
    """Return the top-level packages of others that a list of modules names."""
    names = {name.partition(".")[0] for name in modules(report)}
    known = sys.stdlib_module_names | OURS
    return {name for name in names - known if not NOT_OURS_TO_CHOOSE.match(name)}


def imported_by(statement: str, report: Path) -> set[str]:
    """Return the packages of others that a statement imports in an interpreter of its own."""
    subprocess.run([sys.executable, "-c", LISTING + statement, report], check=True)
    return foreign_packages(report)


def test_command_line_imports_little(tmp_path: Path) -> None:
    assert imported_by("import doorkeeper.cli", tmp_path / "modules") <= COMMAND_LINE


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OPTIONS = {
    "in clear": ["listeners=PLAINTEXT://localhost:0"],
    "with users": [
        "listeners=SASL://localhost:0",
        "listener.security.protocol.map=SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
        f'listener.name.sasl.plain.sasl.jaas.config={PLAIN} required user_alice="alice-secret";',
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    ],
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_server_imports_a_short_list(tmp_path: Path, kind: str) -> None:
    imported_by("import asyncio", tmp_path / "little")
    report = tmp_path / "modules"
    program = LISTING + "runpy.run_module('doorkeeper', run_name='__main__', alter_sys=True)"
    options = [*OPTIONS[kind], f"doorkeeper.data.dir={tmp_path / 'data'}"]
    overrides = [word for option in options for word in ("--override", option)]
    with subprocess.Popen(
        [sys.executable, "-c", program, report, "serve", *overrides],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    ) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if '"started"' in line:
                server.send_signal(signal.SIGTERM)

    assert server.returncode == 0
    assert {"apsw", "structlog"} <= foreign_packages(report) <= SERVING
    assert "doorkeeper.server.net.protocol.connection" in modules(report)
    # Some environments have more in every process.
    assert HEAVY & modules(report) <= modules(tmp_path / "little")


def test_forbidden_imports_exist() -> None:
    ours = sorted(name for name in HEAVY if name.partition(".")[0] in OURS)

    assert [name for name in ours if find_spec(name) is None] == []
