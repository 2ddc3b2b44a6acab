"""Files that commands write."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def test_new_file_has_default_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", b"text")
    finally:
        os.umask(before)

    assert (tmp_path / "a").read_bytes() == b"text"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    path.chmod(0o604)
    with path.open() as reader:
        write_whole(path, b"after")

        assert reader.read() == "before"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o604)


def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file, link = tmp_path / "folder" / "a", tmp_path / "link"
    file.write_text("before")
    link.symlink_to(file)

    write_whole(link, b"after")

    assert link.is_symlink()
    assert file.read_text() == "after"


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"after")

    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    write_whole(pipe, b"text")
    reader.join()

    assert read == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
