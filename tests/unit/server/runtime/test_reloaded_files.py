"""Values of files that change."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from testkit.edge import Log

if TYPE_CHECKING:
    from pathlib import Path

FAULT = "files not reloaded: the previous values stay in use"


class Number:
    """A number in a file, and the number of reads."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.log, self.reads = path, Log(), 0
        self.readable = True
        self.fault: OSError | None = None
        self.replace(text)
        self.files = ReloadedFiles(self.read, self.log, path)

    def read(self) -> int:
        self.reads += 1
        try:
            if self.fault is not None:
                raise self.fault
        except OSError:
            # As readers of settings hide it behind a key.
            raise ValueError("Too many open files") from None
        if not self.readable:
            raise PermissionError(13, "Permission denied", str(self.path))
        return int(self.path.read_text())

    def replace(self, text: str) -> None:
        """Write a new file of this name, with an old time of modification."""
        new = self.path.with_name("new")
        new.write_text(text)
        os.utime(new, (1000, 1000))
        new.replace(self.path)


def test_file_is_read_again_only_after_a_change(tmp_path: Path) -> None:
    number = Number(tmp_path / "number", "1")
    assert [number.files.current(), number.files.current(), number.reads] == [1, 1, 1]

    number.replace("2")

    assert [number.files.current(), number.files.current(), number.reads] == [2, 2, 2]
    assert number.log.one("files reloaded").fields == {"files": str(number.path)}


def test_invalid_file_is_logged_once(tmp_path: Path) -> None:
    number = Number(tmp_path / "number", "1")
    number.replace("x")

    assert [number.files.current(), number.files.current(), number.reads] == [1, 1, 2]
    assert "invalid literal" in str(number.log.one(FAULT).fields["problem"])
    number.path.unlink()
    assert number.files.current() == 1
    assert "number: No such file" in str(number.log.lines[-1].fields["problem"])
    number.replace("3")
    assert number.files.current() == 3


def test_changed_permission_is_a_change(tmp_path: Path) -> None:
    number = Number(tmp_path / "number", "1")
    number.readable = False
    number.replace("2")
    assert number.files.current() == 1
    assert "number: Permission denied" in str(number.log.one(FAULT).fields["problem"])

    number.readable = True
    number.path.chmod(0o400)

    assert number.files.current() == 2


def test_first_version_must_be_valid(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"number: No such file or directory"):
        ReloadedFiles((tmp_path / "number").read_text, Log(), tmp_path / "number")


def test_file_is_read_again_after_descriptors_were_lacking(tmp_path: Path) -> None:
    """The renewed file is used, and told of, though it does not change once more."""
    number = Number(tmp_path / "number", "1")
    number.replace("2")
    number.fault = OSError(errno.EMFILE, "Too many open files")

    assert [number.files.current(), number.files.current(), number.reads] == [1, 1, 3]
    assert "Too many open files" in str(number.log.one(FAULT).fields["problem"])
    number.fault = None
    assert number.files.current() == 2
    assert number.log.lines[-1].event == "files reloaded"


def test_fault_that_the_lack_of_descriptors_hid_is_logged(tmp_path: Path) -> None:
    number = Number(tmp_path / "number", "1")
    number.replace("x")
    number.fault = OSError(errno.EMFILE, "Too many open files")
    number.files.refresh()
    number.fault = None

    assert number.files.current() == 1
    assert "invalid literal" in str(number.log.lines[-1].fields["problem"])
