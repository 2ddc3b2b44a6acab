"""doorkeeper.server.operations.audit.tailing: what comes, once, whatever happens to the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.operations.audit.tailing import Tail
from testkit.trails import line_of, written

if TYPE_CHECKING:
    from pathlib import Path


def new(tail: Tail) -> list[int]:
    return [event["seq"] for event in tail.new()]


def test_events_come_once(tmp_path: Path) -> None:
    """What is written comes when its line is whole, from file to file, and never twice."""
    tail = Tail(tmp_path)
    assert new(tail) == []
    path = written(tmp_path, 1, 2, closed=False, tail=line_of(3)[:9])
    assert new(tail) == [1, 2]
    with path.open("ab") as file:
        file.write(line_of(3)[9:] + line_of(4))
    assert new(tail) == [3, 4]
    path.unlink()
    written(tmp_path, 1, 5, compressed=True)
    written(tmp_path, 6, 1, closed=False)

    assert new(tail) == [5, 6]
    assert new(tail) == []


def test_the_last_events(tmp_path: Path) -> None:
    """The last events are those of all files together; what is before them does not come later."""
    written(tmp_path, 1, 3)
    written(tmp_path, 4, 2)
    written(tmp_path, 6, 1, closed=False)
    tail = Tail(tmp_path)

    assert [event["seq"] for event in tail.last_lines(2)] == [5, 6]
    assert new(tail) == []
    assert [event["seq"] for event in Tail(tmp_path).last_lines(100)] == [1, 2, 3, 4, 5, 6]
    assert Tail(tmp_path).last_lines(0) == []


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A broken file is told, and the others are read; lines that are no events are left out."""
    path = written(tmp_path, 1, 3, compressed=True)
    path.write_bytes(b"broken")
    written(tmp_path, 4, 1, closed=False, tail=b"[]\nx\n" + line_of(5))
    tail = Tail(tmp_path)

    assert new(tail) == [4, 5]
    assert list(tail.unreadable) == [path.name]


def test_lines_that_nobody_wrote(tmp_path: Path) -> None:
    """A line that is deep, or of other types, is passed over."""
    odd = b'{"kind": "login", "seq": 2, "node": 1, "ts_ns": "yesterday"}\n'
    written(tmp_path, 1, 1, closed=False, tail=b"[" * 100_000 + b"\n" + odd + line_of(3))

    assert [event["seq"] for event in Tail(tmp_path).last_lines(9)] == [1, 3]
