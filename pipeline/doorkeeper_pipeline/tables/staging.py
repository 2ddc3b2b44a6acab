"""Changes of an output folder that happen whole or not at all.

Everything new is written under ``.staging/<run>``. Then one file, ``.commit.json``, lists the moves
and removals; from the moment in which it exists the change has happened, and the next process
completes the rest after a crash. Before that moment the old tables are whole. Each move
is one rename inside of one file system, and doing it again changes nothing.

One process at a time changes an output folder: ``.lock`` is held while it lives.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import Busy, PipelineError, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STAGING = ".staging"
COMMIT = ".commit.json"
LOCK = ".lock"


@contextmanager
def lock(root: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of an output folder, and complete a change that a crash interrupted.

    Staged files are removed if the change fails.

    Raises:
        Busy: another process holds it, and ``wait`` does not say to wait for its end.
        PipelineError: the folder cannot be made or written.

    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / LOCK).open("a")
    except OSError as error:
        raise PipelineError(f"{root}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"{root}: another doorkeeper-pipeline is writing there") from error
        recover(root)
        try:
            yield
        except BaseException:
            if not (root / COMMIT).exists():
                # What failed for want of room gives it back.
                shutil.rmtree(root / STAGING, ignore_errors=True)
            raise


def settle(root: Path) -> None:
    """Complete a committed change, for readers; wait for one in progress.

    Raises:
        PipelineError: there is one, and the folder cannot be written.

    """
    if (root / COMMIT).exists():
        with lock(root, wait=True):
            pass


def recover(root: Path) -> None:
    """Complete a change that was committed, and forget one that was not.

    Raises:
        Unreadable: the commit file is none of ours.

    """
    commit = root / COMMIT
    if commit.exists():
        try:
            plan = json.loads(commit.read_text(encoding="utf-8"))
            run, moved, removed = plan["run"], plan["moved"], plan["removed"]
            _check_inside(run, *moved, *removed)
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{commit}: no commit of an output folder: {error}") from error
        _apply(root, run, moved, removed)
    shutil.rmtree(root / STAGING, ignore_errors=True)


class Staged:
    """One change that is being prepared."""

    def __init__(self, root: Path, run: str) -> None:
        """Begin a change; the caller holds the lock. ``removed`` are the names to go."""
        self.root = root
        self._run = run
        self.removed: set[str] = set()

    @property
    def folder(self) -> Path:
        """Return where new files are written, under the names that they will have."""
        return self.root / STAGING / self._run

    def path(self, name: str) -> Path:
        """Return where a file is written that will have this name."""
        return self.folder / name

    def now(self, name: str) -> Path:
        """Return where a file is read inside of the change: the new one, else the old one."""
        new = self.path(name)
        return new if new.exists() or name in self.removed else self.root / name

    def remove(self, name: str) -> None:
        """Note that a file goes away, unless a new one takes its name."""
        self.removed.add(name)

    def commit(self, checkpoint: Callable[[str], None] = lambda _: None) -> None:
        """Make the change. ``checkpoint`` is told each step, for tests that stop there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        moved = sorted(
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()
        )
        removed = sorted(self.removed - set(moved))
        checkpoint("staged")
        _sync_files(self.folder, moved)
        plan = {"run": self._run, "moved": moved, "removed": removed}
        new = self.root / f"{COMMIT}.new"
        with new.open("w", encoding="utf-8") as file:
            json.dump(plan, file)
            file.flush()
            os.fsync(file.fileno())
        checkpoint("planned")
        new.replace(self.root / COMMIT)
        sync(self.root)
        checkpoint("committed")
        _apply(self.root, self._run, moved, removed, checkpoint)
        shutil.rmtree(self.folder, ignore_errors=True)


def _check_inside(*names: str) -> None:
    """Check that names lead to nothing outside of the folder.

    Raises:
        ValueError: one does.

    """
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{name!r} is no name in this folder")


def _apply(
    root: Path,
    run: str,
    moved: list[str],
    removed: list[str],
    checkpoint: Callable[[str], None] = lambda _: None,
) -> None:
    """Do the moves and removals of a commit; completed ones are skipped."""
    staging = root / STAGING / run
    for name in moved:
        new, target = staging / name, root / name
        if new.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            new.replace(target)
            checkpoint(f"moved {name}")
    for name in removed:
        (root / name).unlink(missing_ok=True)
        checkpoint(f"removed {name}")
    for folder in {(root / name).parent for name in (*moved, *removed)}:
        if folder.is_dir():
            sync(folder)
            if folder != root and not any(folder.iterdir()):
                folder.rmdir()
    (root / COMMIT).unlink(missing_ok=True)
    sync(root)


def _sync_files(folder: Path, names: list[str]) -> None:
    for name in names:
        sync(folder / name)


def sync(path: Path) -> None:
    """Sync a file or folder, so that a commit never names files that a power loss took."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
