"""Try the installed command as a new user does: a configuration, examples, a server, ACLs.

Usage: python scripts/try_installed.py, with the Python of the environment, in an empty folder
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "doorkeeper")
FREE_PORTS = "listeners=SASL://localhost:0,CONTROLLER://localhost:0"
LOGIN = """security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="admin" password="change-me";
"""
ACL = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"


def run(*words: str) -> str:
    """Run a command that must succeed; return what it prints."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"doorkeeper {' '.join(words)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def start() -> tuple[subprocess.Popen[str], str]:
    """Start a server with the sample configuration on free ports; return it and its address."""
    words = ("serve", "--config", "server.properties", "--override", FREE_PORTS)
    server = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        event = json.loads(line)
        if event["event"] == "started":
            return server, event["listeners"]["SASL"].removeprefix("SASL://")
    sys.exit(f"doorkeeper serve ended with status {server.wait()}")


def main() -> None:
    """Try each step; the first that fails ends the process with its reason."""
    sys.stdout.write(run("config", "init"))
    # The check warns of the sample's passwords.
    sys.stdout.write(run("config", "check", "server.properties"))
    for name in [line.split()[0] for line in run("examples", "list").splitlines()]:
        copied = run("examples", "copy", name, f"examples/{name}").splitlines()
        assert copied, name
        assert all(Path(path).stat().st_size for path in copied), name
    client = Path("client.properties")
    client.write_text(LOGIN, encoding="utf-8")
    server, address = start()
    at = ("--bootstrap-server", address, "--command-config", str(client))
    try:
        grant = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
        run("acls", "add", *at, *grant)
        listed = run("acls", "list", *at)
    finally:
        server.terminate()
        status = server.wait()
    assert ACL in listed, listed
    assert status == 0, status
    sys.stdout.write(f"ACLs were added and listed at {address}; the server has stopped\n")


main()
