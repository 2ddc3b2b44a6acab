"""The log of a server's process."""

from __future__ import annotations

import subprocess
import sys

from doorkeeper.testing.process import LogLines

WAIT_S = 30.0


def printing(code: str) -> tuple[subprocess.Popen[bytes], LogLines]:
    """Start a process that runs this code."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    return process, LogLines(process.stdout, process.stderr)


def test_wait_for_a_line() -> None:
    process, log = printing(
        "import json, sys; print('hello'); print(json.dumps({'event': 'started', 'n': 1}),"
        " flush=True); sys.stdin.read()"
    )

    assert log.wait_for("started", WAIT_S) == {"event": "started", "n": 1}
    process.kill()
    process.wait()
    log.close()
    assert log.lines[0] == {"event": "hello"}


def test_process_ends_before_the_line() -> None:
    process, log = printing("import sys; sys.exit('it is broken')")

    assert log.wait_for("started", WAIT_S) is None
    process.wait()
    log.close()
    assert log.errors.strip() == "it is broken"
