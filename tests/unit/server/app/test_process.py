"""The life of the process, from its outside. ``tests/e2e`` has the longer stories."""

from __future__ import annotations

import io
import re
import signal
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from doorkeeper.server.app.process import write_whole_lines
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from testkit.serving import Serving, creation


def test_start_line_and_stop_on_signal(tmp_path: Path) -> None:
    """One line has addresses, ids, ACLs and time; SIGINT, like SIGTERM, ends with status 0."""
    with Serving(tmp_path) as server:
        line = server.line("started")
        with server.connect() as conversation:
            conversation.call(ApiVersionsRequest(), ApiVersionsResponse, 0)

        assert server.stop(signal.SIGINT) == 0
        server.line("stopped")

    assert line["listeners"].keys() == {"PLAINTEXT"}
    assert line["node_id"] == 1
    assert len(line["cluster_id"]) == 22
    assert line["acls"] == 0
    assert line["ms"] > 0


def test_service_manager_is_notified(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.settimeout(60)
        manager.bind(address)
        with Serving(tmp_path, environment={"NOTIFY_SOCKET": address}) as server:
            first = manager.recv(100)
            assert server.of("started") or server.line("started")
            server.process.send_signal(signal.SIGHUP)
            told = [manager.recv(100) for _ in range(2)]
            assert server.stop() == 0
            last = manager.recv(100)

    assert first == b"READY=1"
    assert told[0].startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    assert told[1] == b"READY=1"
    assert last == b"STOPPING=1"


@pytest.mark.parametrize("unbuffered", [False, True])
def test_plug_in_output_is_written_in_whole_lines(*, unbuffered: bool) -> None:
    class Raw(io.RawIOBase):
        writes: ClassVar[list[bytes]] = []

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.writes.append(bytes(data))
            return len(data)

    Raw.writes = []
    buffer: Any = Raw() if unbuffered else io.BufferedWriter(Raw())
    stream = io.TextIOWrapper(buffer, write_through=unbuffered)

    write_whole_lines(stream)
    print("decided", "ALLOWED", file=stream)
    print("x" * 4_000, file=stream)

    assert Raw.writes == [b"decided ALLOWED\n", b"x" * 4_000 + b"\n"]


def test_signal_during_start_ends_the_process(tmp_path: Path) -> None:
    plug_in = tmp_path / "plug_in.py"
    plug_in.write_text(
        "import asyncio\n"
        "from doorkeeper.server.authorizer.standard import StandardAuthorizer\n"
        "class Never(StandardAuthorizer):\n"
        "    def start(self, server_info):\n"
        '        print(\'{"event": "waiting"}\', flush=True)\n'
        "        never = asyncio.get_running_loop().create_future()\n"
        "        return {each: never for each in server_info.endpoints}\n"
    )
    overrides = (
        *("--override", "listeners=PLAINTEXT://localhost:0"),
        *("--override", "authorizer.class.name=plug_in.Never"),
    )
    with Serving(tmp_path, *overrides) as server:
        server.line("waiting")

        assert server.stop() == 0
        assert server.of("started") == []


def test_second_signal_ends_immediately(tmp_path: Path) -> None:
    """While a stop waits for a change that never ends, another signal gives status 128 + 15."""
    plug_in = tmp_path / "plug_in.py"
    plug_in.write_text(
        "import asyncio\n"
        "from doorkeeper.server.authorizer.standard import StandardAuthorizer\n"
        "class Slow(StandardAuthorizer):\n"
        "    def create_acls(self, context, bindings):\n"
        '        print(\'{"event": "asked"}\', flush=True)\n'
        "        return [asyncio.get_running_loop().create_future() for _ in bindings]\n"
    )
    overrides = (
        *("--override", "listeners=PLAINTEXT://localhost:0"),
        *("--override", "authorizer.class.name=plug_in.Slow"),
    )
    with Serving(tmp_path, *overrides) as server, server.connect() as conversation:
        conversation.send(creation("User:a"), 3)
        server.line("asked")
        server.process.send_signal(signal.SIGTERM)
        server.line("stopping")

        assert server.stop() == 128 + signal.SIGTERM


def ignores_sighup(pid: int) -> bool:
    """Say whether the kernel drops the signal for a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    ignored = int(re.findall(r"^SigIgn:\s*(\w+)", status, re.MULTILINE)[0], 16)
    return bool(ignored >> (signal.SIGHUP - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it asks Linux")
def test_sighup_during_start_is_ignored(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        while not ignores_sighup(server.process.pid):
            assert server.process.poll() is None
        assert not server.lines
        while not server.of("started"):
            server.process.send_signal(signal.SIGHUP)
            assert server.process.poll() is None
            time.sleep(0.001)

        assert server.stop() == 0
