"""Processes that ``doorkeeper.testing.fork_client`` forks."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.testing.fork_client import environment
from doorkeeper.testing.fork_server import ServeRequest

if TYPE_CHECKING:
    from doorkeeper.testing.forked_process import ForkedProcess

WAIT_S = 30.0


def wanted(folder: Path, **keys: str) -> ServeRequest:
    """Return a server in clear, with these keys of its own, by names with ``_`` for points."""
    needed = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "doorkeeper.log.format": "json",
        "doorkeeper.data.dir": "data",
    }
    return ServeRequest(
        keys=needed | {name.replace("_", "."): value for name, value in keys.items()},
        environment={**environment(), "OF_THIS_MOMENT": "now"},
        module_path=[str(folder), *sys.path],
        folder=str(folder),
        beginning=None,
    )


def started(server: ForkedProcess) -> list[bytes]:
    """Return the lines of a server until it has started."""
    lines = []
    for line in server.stdout:
        lines.append(line)
        if b'"started"' in line:
            break
    return lines


def ended(server: ForkedProcess) -> int:
    """Return the status of a server that ends."""
    status = server.wait(WAIT_S)
    server.stdout.close()
    server.stderr.close()
    return status


def is_there(pid: int) -> bool:
    """Say whether there is such a process, which has not ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    deadline_s = time.monotonic() + WAIT_S
    while is_there(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return not is_there(pid)
