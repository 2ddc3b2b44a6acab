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
def test_lines_are_numbered(tmp_path: Path, *, compressed: bool) -> None:
    path = written(tmp_path, 5, 2, compressed=compressed, tail=b'{"torn')

    assert list(lines_of(file_at(path))) == [
        Line(1, line_of(5).strip(), True),
        Line(2, line_of(6).strip(), True),
        Line(3, b'{"torn', False),
    ]


def test_truncated_compressed_file_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, 1, 2000, compressed=True)
    path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)

    with pytest.raises(UnreadableFile):
        list(lines_of(file_at(path)))
    path.write_bytes(b"no zstd at all")
    with pytest.raises(UnreadableFile, match="after line 0"):
        list(lines_of(file_at(path)))


def test_overlong_line_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", 100)
    path = written(tmp_path, 1, 1, tail=b"x" * 101)

    with pytest.raises(UnreadableFile, match="line 2 has more than 100 bytes"):
        list(lines_of(file_at(path)))
