"""Changes happen whole or not at all, also when a process is killed in them."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Busy, PipelineError, Unreadable
from doorkeeper_pipeline.tables.staging import COMMIT, STAGING, Staged, lock, recover, settle

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"t/a": "old a", "t/b": "old b", "u/c": "old c"}
NEW = {"t/a": "new a", "t/b": "old b", "v/d": "new d"}
OUTSIDE = '{"run": "r", "moved": [], "removed": ["../mine"]}'
STEPS = ("staged", "planned", "committed", "moved t/a", "moved v/d", "removed u/c")


def tables(root: Path) -> dict[str, str]:
    """Return what an output folder holds."""
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and not path.relative_to(root).parts[0].startswith(".")
    }


def filled(root: Path) -> Path:
    """Write the old tables."""
    for name, text in OLD.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


CHANGE = """
import os, signal, sys
from pathlib import Path
from doorkeeper_pipeline.tables.staging import Staged, lock

root, stop_at = Path(sys.argv[1]), sys.argv[2]

def checkpoint(step):
    if step == stop_at:
        os.kill(os.getpid(), signal.SIGKILL)

with lock(root):
    staged = Staged(root, "run-1")
    for name in ("t/a", "v/d"):
        staged.path(name).parent.mkdir(parents=True)
        staged.path(name).write_text(name.replace("t/", "new ").replace("v/", "new "))
    staged.remove("u/c")
    staged.commit(checkpoint)
"""


def change(root: Path, stop_at: str = "") -> int:
    """Make the change in a process that is killed at a step; return its status."""
    return subprocess.run(
        [sys.executable, "-c", CHANGE, str(root), stop_at], check=False, timeout=60
    ).returncode


def test_a_change(tmp_path: Path) -> None:
    """New files are there, removed ones are not, others are as they were, nothing is left over."""
    assert change(filled(tmp_path)) == 0

    assert tables(tmp_path) == NEW
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", ".staging", "t", "v"]
    assert not any((tmp_path / STAGING).iterdir())


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_leaves_old_or_new(tmp_path: Path, step: str) -> None:
    """After kill -9 at any step the next one finds the old tables whole, or completes the new."""
    filled(tmp_path)
    assert change(tmp_path, step) == -signal.SIGKILL
    before = step in {"staged", "planned"}
    if before:
        assert tables(tmp_path) == OLD

    with lock(tmp_path):
        pass

    assert tables(tmp_path) == (OLD if before else NEW)
    assert not (tmp_path / COMMIT).exists()
    assert not (tmp_path / STAGING).exists()
    assert change(tmp_path) == 0
    assert tables(tmp_path) == NEW


def test_what_is_read_inside_of_a_change(tmp_path: Path) -> None:
    """Inside of a change the new files are read, and the old ones where there is no new."""
    staged = Staged(filled(tmp_path), "run-1")
    staged.path("t/a").parent.mkdir(parents=True)
    staged.path("t/a").write_text("new a")
    staged.remove("u/c")

    assert staged.now("t/a") == staged.path("t/a")
    assert staged.now("t/b") == tmp_path / "t/b"
    assert not staged.now("u/c").exists()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second process is told, not made to wait."""
    with lock(tmp_path), pytest.raises(Busy, match="another"), lock(tmp_path):
        pass


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    """A file in the place of the folder is an error."""
    (tmp_path / "file").touch()
    with pytest.raises(PipelineError, match="file"), lock(tmp_path / "file"):
        pass


def test_a_commit_of_something_else(tmp_path: Path) -> None:
    """A commit file that is none of ours is not followed, least of all out of the folder."""
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine").write_text("mine")
    for plan in ("[]", OUTSIDE, OUTSIDE.replace("../mine", str(tmp_path / "mine"))):
        (out / COMMIT).write_text(plan)
        with pytest.raises(Unreadable, match="no commit"):
            recover(out)
    assert (tmp_path / "mine").read_text() == "mine"


def test_who_only_reads_finds_whole_tables(tmp_path: Path) -> None:
    """A change that was killed in its moves is completed before it is read, and nothing else."""
    assert change(filled(tmp_path), "moved t/a") == -signal.SIGKILL
    assert tables(tmp_path)["u/c"] == "old c"

    settle(tmp_path)

    assert tables(tmp_path) == NEW
    (tmp_path / ".lock").unlink()
    settle(tmp_path)
    assert not (tmp_path / ".lock").exists()


def test_a_change_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """What was staged goes with the failure: it may be a full disk that made it fail."""
    with pytest.raises(OSError, match="full"), lock(filled(tmp_path)):  # noqa: PT012  the point
        staged = Staged(tmp_path, "run-1")
        staged.path("t/a").parent.mkdir(parents=True)
        staged.path("t/a").write_text("new a")
        raise OSError("full")

    assert not (tmp_path / STAGING).exists()
    assert tables(tmp_path) == OLD
