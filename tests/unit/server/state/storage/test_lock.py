from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.storage.files import LOCK_NAME
from doorkeeper.server.state.storage.lock import DataLock
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from doorkeeper.server.state.storage.lock import DataLock
lock = DataLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock until it is killed."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_second_process_is_rejected(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(StorageError) as raised:
            DataLock(tmp_path)

        expected = f"{tmp_path / LOCK_NAME}: the store is in use by process {process.pid}"
        assert str(raised.value) == expected


def test_kill_releases_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()

        lock = DataLock(tmp_path)

        assert (tmp_path / LOCK_NAME).read_text() == f"{os.getpid()}\n"
        lock.release()


def test_unreadable_holder_is_unknown(tmp_path: Path) -> None:
    lock = DataLock(tmp_path)
    (tmp_path / LOCK_NAME).write_text("")

    with pytest.raises(StorageError, match="in use by another process"):
        DataLock(tmp_path)

    lock.release()


def test_symbolic_link_as_lock_is_rejected(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    for name in (target, tmp_path / "missing"):
        (tmp_path / LOCK_NAME).symlink_to(name)
        with pytest.raises(StorageError, match=r"lock: cannot open: this is a symbolic link"):
            DataLock(tmp_path)
        (tmp_path / LOCK_NAME).unlink()

    assert target.read_text() == "precious"
    assert not (tmp_path / "missing").exists()
