"""The history of a real server, while it serves: commands beside it, its stream, an undo."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING

from doorkeeper.client.watching import watch
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit.e2e import STANDARD, command, configured
from testkit.load import scaled
from testkit.serving import creation

if TYPE_CHECKING:
    from pathlib import Path

KEYS = (
    f"listeners=PLAINTEXT://localhost:0\n{STANDARD}super.users=User:ANONYMOUS\n"
    "doorkeeper.http.listener=http://127.0.0.1:0\ndoorkeeper.data.dir=data\n"
)


def run(folder: Path, *words: str) -> str:
    status, text, errors = command(folder, *words)
    assert status == 0, errors
    return text


async def watched(url: str, first: int, count: int) -> list[int]:
    """Return the next revisions of a stream, over a connection for each."""
    found: list[int] = []
    while len(found) < count:
        async for change in watch(url, from_revision=first + len(found)):
            found.append(change["revision"])
            break
    return found


def test_history_of_a_running_server(tmp_path: Path) -> None:
    config = "config:server.properties"
    with configured(tmp_path, KEYS) as server:
        with server.connect() as client:
            introduction = ApiVersionsRequest(
                client_software_name="tool", client_software_version="1.2"
            )
            client.call(introduction, ApiVersionsResponse, 3)
            for name in ("alice", "bob"):
                client.call(creation(f"User:{name}"), CreateAclsResponse, 3)
        url = str(server.line("operations port open")["url"])
        assert asyncio.run(watched(url, 1, 2)) == [1, 2]
        lines = run(tmp_path, "history", "list", config).splitlines()
        assert [line.split()[0] for line in lines] == ["2", "1"]
        assert " User:ANONYMOUS 127.0.0.1 tool/1.2 #" in lines[0]
        assert "User:bob" not in run(tmp_path, "acls", "list", config, "--at", "1")
        assert server.stop() == 0
        # What is in the server's log, no writer of the database can change.
        (tmp_path / "server.log").write_text(json.dumps(server.line("history")))
        recorded = ("--recorded-in", "server.log")
    with configured(tmp_path, KEYS) as server:
        url = str(server.line("operations port open")["url"])
        address = f"kafka://localhost:{server.port()}"
        run(tmp_path, "acls", "undo", "2", address, "--history", config, "--yes")
        assert asyncio.run(watched(url, 2, 2)) == [2, 3]
        assert "User:bob" not in run(tmp_path, "acls", "list", address)
        assert "revisions 1 to 3" in run(tmp_path, "history", "verify", config, *recorded)


def test_watcher_receives_each_change_once_across_a_kill(tmp_path: Path) -> None:
    words = ("watch", "config:server.properties", "--since", "0", "--limit", "300")
    with configured(tmp_path, KEYS) as server, server.connect() as client:
        client.call(creation("User:0"), CreateAclsResponse, 3)
        watcher = subprocess.Popen(
            [sys.executable, "-m", "doorkeeper", *words, "--output", "json"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, 100):
            client.call(creation(f"User:{number}"), CreateAclsResponse, 3)
        for number in range(300, 400):
            client.send(creation(f"User:{number}"), 3)
        server.process.kill()
    with configured(tmp_path, KEYS) as server, server.connect() as client:
        for number in range(100, 300):
            client.call(creation(f"User:{number}"), CreateAclsResponse, 3)
        output, _ = watcher.communicate(timeout=scaled(120))
    changes = [json.loads(line) for line in output.splitlines()]
    assert [each["revision"] for each in changes] == list(range(1, 301))
    principals = [each["changes"][0]["principal"] for each in changes]
    assert principals[:100] == [f"User:{number}" for number in range(100)]
    assert len(set(principals)) == 300
