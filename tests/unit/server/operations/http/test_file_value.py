"""Values of files that change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from doorkeeper.server.operations.http.file_value import FileValue
from testkit.edge import Log

if TYPE_CHECKING:
    from pathlib import Path


def number_in(path: Path) -> int:
    return int(path.read_text())


def write(path: Path, text: str, at_s: int) -> None:
    path.write_text(text)
    os.utime(path, (at_s, at_s))


def test_a_file_is_read_again_when_it_changes_only(tmp_path: Path) -> None:
    """As long as it stands still it is looked at, and not read."""
    path, reads, log = tmp_path / "number", [0], Log()

    def make() -> int:
        reads[0] += 1
        return number_in(path)

    write(path, "1", 1000)
    watched = FileValue(make, log, path)

    assert [watched.now(), watched.now(), reads[0]] == [1, 1, 1]
    write(path, "2", 1001)
    assert [watched.now(), watched.now(), reads[0]] == [2, 2, 2]
    assert log.one("files reloaded").fields == {"files": str(path)}


def test_what_cannot_be_read_leaves_what_was(tmp_path: Path) -> None:
    """It is told once; when the file is right again, that is what holds."""
    path, log = tmp_path / "number", Log()
    write(path, "1", 1000)
    watched = FileValue(lambda: number_in(path), log, path)

    write(path, "not one", 1001)
    assert [watched.now(), watched.now()] == [1, 1]
    assert "invalid literal" in str(
        log.one("files not reloaded: the previous values stay in use").fields["problem"]
    )
    path.unlink()
    assert watched.now() == 1
    assert "No such file" in str(log.lines[-1].fields["problem"])
    write(path, "3", 1002)

    assert watched.now() == 3
