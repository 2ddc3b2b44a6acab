"""doorkeeper.server.operations.audit.reading: lines of files, compressed or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.operations.audit import reading
from doorkeeper.server.operations.audit.names import AuditFile, file_of
from doorkeeper.server.operations.audit.reading import Line, UnreadableFile, lines_of
from testkit.trails import line_of, written

if TYPE_CHECKING:
    from pathlib import Path


def file_at(path: Path) -> AuditFile:
    file = file_of(path)
    assert file is not None
    return file


@pytest.mark.parametrize("compressed", [False, True])
def test_lines(tmp_path: Path, *, compressed: bool) -> None:
    """Each line comes with its number, and whether it has an end."""
    path = written(tmp_path, 5, 2, compressed=compressed, tail=b'{"torn')

    assert list(lines_of(file_at(path))) == [
        Line(1, line_of(5).strip(), True),
        Line(2, line_of(6).strip(), True),
        Line(3, b'{"torn', False),
    ]


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    """What is cut off or broken is an error that says so."""
    path = written(tmp_path, 1, 2000, compressed=True)
    path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)

    with pytest.raises(UnreadableFile):
        list(lines_of(file_at(path)))
    path.write_bytes(b"no zstd at all")
    with pytest.raises(UnreadableFile, match="behind line 0"):
        list(lines_of(file_at(path)))


def test_a_line_without_an_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line longer than any of ours is refused before it fills the memory."""
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 100)
    path = written(tmp_path, 1, 1, tail=b"x" * 101)

    with pytest.raises(UnreadableFile, match="line 2 has more than 100 bytes"):
        list(lines_of(file_at(path)))
