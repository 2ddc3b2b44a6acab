"""doorkeeper.server.operations.audit.verifying: what is wrong with a trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.operations.audit import verifying
from doorkeeper.server.operations.audit.names import AuditFile, files_in
from doorkeeper.server.operations.audit.verifying import verify_log
from testkit.trails import line_of, written

if TYPE_CHECKING:
    from pathlib import Path


def problems(folder: Path) -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.line, each.text) for each in verify_log(folder).problems]


def test_complete_audit_log(tmp_path: Path) -> None:
    """Files of two nodes, one of them being written and half a line ahead, are whole; the first
    number need not be 1."""
    written(tmp_path, 10, 5, compressed=True)
    written(tmp_path, 15, 1)
    written(tmp_path, 16, 2, closed=False, tail=b'{"kind')
    written(tmp_path, 1, 3, node=2)
    (tmp_path / "audit-1.lock").touch()

    verdict = verify_log(tmp_path)

    assert verdict.is_whole
    assert (verdict.files, verdict.open_files, dict(verdict.events)) == (4, 1, {"login": 11})
    assert (verdict.first, verdict.last) == ({1: 10, 2: 1}, {1: 17, 2: 3})


@pytest.mark.parametrize(
    ("first", "count", "tail", "expected"),
    [
        (1, 2, line_of(5), ("gap", 3, "events 3 to 4 are missing")),
        (1, 3, line_of(2) + line_of(3), ("order", 4, "event 2 comes after event 3")),
        (1, 1, b"{\n" + line_of(2), ("unreadable", 2, "the line is not an event")),
        (1, 1, b"[" * 100_000 + b"\n", ("unreadable", 2, "the line is not an event")),
        (1, 1, b'{"kind": "x"}\n', ("unreadable", 2, "the line is not an event")),
        (1, 1, line_of(-2), ("unreadable", 2, "the line is not an event")),
        (1, 1, line_of(2, ts_ns=10**400), ("unreadable", 2, "the line is not an event")),
        (1, 1, b"\xff\n", ("unreadable", 2, "the line is not an event")),
        (1, 0, line_of(1, node=2), ("unreadable", 1, "an event of node 2")),
    ],
    ids=range(9),
)
def test_wrong_lines_are_reported(
    tmp_path: Path, first: int, count: int, tail: bytes, expected: tuple[str, int, str]
) -> None:
    written(tmp_path, first, count, closed=False, tail=tail)

    assert problems(tmp_path) == [expected]
    assert not verify_log(tmp_path).is_whole


def test_unreadable_file_is_one_problem(tmp_path: Path) -> None:
    written(tmp_path, 1, 2, compressed=True).write_bytes(b"broken")
    written(tmp_path, 3, 1)

    (problem,) = problems(tmp_path)
    assert problem[:2] == ("unreadable", None)


def test_file_contents_must_match_the_name(tmp_path: Path) -> None:
    written(tmp_path, 1, 3).write_bytes(line_of(1))
    written(tmp_path, 4, 1).write_bytes(b"")
    written(tmp_path, 5, 2, tail=b'{"kin')
    written(tmp_path, 8, 1)

    found = [text for _, _, text in problems(tmp_path)]

    for text in (
        "its name says events 1 to 3; found 1 to 1",
        "its name says events 4 to 4; found none",
        "the last line has no end: 5 bytes",
        "event 7 is missing",
    ):
        assert text in found


def test_running_server_changes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 1, 2)
    written(tmp_path, 3, 2)
    being_written = written(tmp_path, 5, 2, closed=False)
    taken = []

    def listing(folder: Path) -> list[AuditFile]:
        found = files_in(folder)
        taken.append(len(found))
        if len(taken) == 2:  # the first look is for the nodes
            found[0].path.unlink()
            being_written.unlink()
            written(tmp_path, 5, 3, compressed=True)
            written(tmp_path, 8, 1, closed=False)
        return found

    monkeypatch.setattr(verifying, "files_in", listing)
    verdict = verify_log(tmp_path)

    assert verdict.problems == []
    assert (verdict.first, verdict.last) == ({1: 3}, {1: 8})
    assert (verdict.files, verdict.open_files) == (3, 1)


def test_file_removed_in_the_middle_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 1, 2)
    middle = written(tmp_path, 3, 2)
    written(tmp_path, 5, 1)
    looks = iter([lambda: None, middle.unlink])

    def listing(folder: Path) -> list[AuditFile]:
        found = files_in(folder)
        next(looks, lambda: None)()
        return found

    monkeypatch.setattr(verifying, "files_in", listing)

    assert [(each.kind, each.text) for each in verify_log(tmp_path).problems] == [
        ("unreadable", "it was there and is gone"),
        ("gap", "events 3 to 4 are missing"),
    ]
