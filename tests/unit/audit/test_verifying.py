"""doorkeeper.audit.verifying: what is wrong with a trail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from doorkeeper.audit import verifying
from doorkeeper.audit.names import AuditFile, files_in, whole_name
from doorkeeper.audit.verifying import verify_log
from testkit.trails import line_of, written

if TYPE_CHECKING:
    from pathlib import Path


def problems(folder: Path) -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.line, each.text) for each in verify_log(folder).problems]


def test_a_whole_trail(tmp_path: Path) -> None:
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


def test_gaps(tmp_path: Path) -> None:
    """Missing numbers are told, between files and inside one."""
    written(tmp_path, 1, 2)
    written(tmp_path, 4, 1)
    written(tmp_path, 7, 1, closed=False, tail=line_of(10))

    assert problems(tmp_path) == [
        ("gap", 1, "event 3 is missing"),
        ("gap", 1, "events 5 to 6 are missing"),
        ("gap", 2, "events 8 to 9 are missing"),
    ]
    assert not verify_log(tmp_path).is_whole


def test_order(tmp_path: Path) -> None:
    """A number that was there before is told."""
    written(tmp_path, 1, 3, closed=False, tail=line_of(2) + line_of(3))

    assert problems(tmp_path) == [("order", 4, "event 2 comes after event 3")]


def test_a_torn_line(tmp_path: Path) -> None:
    """A closed file whose last line has no end is torn."""
    written(tmp_path, 1, 2, tail=b'{"kin')

    assert problems(tmp_path) == [("torn", 3, "the last line has no end: 5 bytes")]


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b'{"kind": "x"}', b'{"kind":"x","seq":true,"node":1,"ts_ns":1}', b"\xff"]
)
def test_a_line_that_is_no_event(tmp_path: Path, line: bytes) -> None:
    """A line without what every event has is told; the others are read."""
    written(tmp_path, 1, 1, closed=False, tail=line + b"\n" + line_of(2))

    assert problems(tmp_path) == [("unreadable", 2, "the line is no event")]
    assert verify_log(tmp_path).events.total() == 2


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A broken file is one problem; what is behind it is read, and has no gap of its own."""
    written(tmp_path, 1, 2, compressed=True).write_bytes(b"broken")
    written(tmp_path, 3, 1)

    (problem,) = problems(tmp_path)
    assert problem[:2] == ("unreadable", None)


def test_a_name_that_lies(tmp_path: Path) -> None:
    """A file must hold what its name says."""
    written(tmp_path, 1, 3).write_bytes(line_of(1))
    written(tmp_path, 4, 1).write_bytes(b"")

    assert [text for _, _, text in problems(tmp_path)] == [
        "its name says events 1 to 3; found 1 to 1",
        "its name says events 4 to 4; found none",
    ]


def test_events_of_another_node(tmp_path: Path) -> None:
    """A file holds the events of one node."""
    written(tmp_path, 1, 1, closed=False).write_bytes(line_of(1, node=2))

    assert problems(tmp_path) == [("unreadable", 1, "an event of node 2")]


def test_a_clock_that_was_set(tmp_path: Path) -> None:
    """Time that goes back is told, and wrong with nothing; a correction is not told."""
    ns = 1_795_000_000_000_000_000
    lines = [line_of(seq, ts_ns=ns - back) for seq, back in ((1, 0), (2, 5 * 10**8), (3, 10**10))]
    written(tmp_path, 1, 1, closed=False).write_bytes(b"".join(lines))

    assert problems(tmp_path) == [("clock", 3, "the time goes back by 9.5 s")]
    assert verify_log(tmp_path).is_whole


def test_what_was_dropped_is_told(tmp_path: Path) -> None:
    """What the trail says is missing is added up, and wrong with nothing."""
    event = {"kind": "dropped", "seq": 1, "node": 1, "ts_ns": 1, "count": 5}
    written(tmp_path, 1, 1, closed=False).write_bytes(json.dumps(event).encode() + b"\n")

    assert (verify_log(tmp_path).dropped, verify_log(tmp_path).is_whole) == (5, True)


def test_many_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are counted, and some are told; JSON has both."""
    monkeypatch.setattr(verifying, "PROBLEMS_MAX", 2)
    written(tmp_path, 1, 0, closed=False, tail=b"x\n" * 5)

    found = verify_log(tmp_path).as_json()

    assert found["problem_counts"] == {"unreadable": 5}
    assert len(found["problems"]) == 2
    assert found["whole"] is False
    assert found["problems"][0] == {
        "kind": "unreadable",
        "node": 1,
        "file": "audit-1-000000000001.jsonl.open",
        "line": 1,
        "text": "the line is no event",
    }


def test_a_server_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is closed, or deleted by its age, after the folder was listed is not missing."""
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


def test_a_file_that_somebody_takes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone while older ones are there was not deleted by its age."""
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


def test_a_file_that_is_being_given_its_name(tmp_path: Path) -> None:
    """Between the name for life and the end of the open one both are there, and say the same."""
    written(tmp_path, 1, 2, compressed=True)
    written(tmp_path, 1, 2, closed=False)

    assert problems(tmp_path) == []


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    """It is told once, and what is behind it is read."""
    (tmp_path / whole_name(1, 1, 2, compressed=False)).symlink_to(tmp_path / "gone")
    written(tmp_path, 3, 1)
    written(tmp_path, 4, 1, closed=False)

    verdict = verify_log(tmp_path)

    assert [each.text for each in verdict.problems] == ["it is a link that leads nowhere"]
    assert (verdict.files, verdict.first, verdict.last) == (2, {1: 3}, {1: 4})


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"kind": "dropped", "count": {}}',
        b'{"kind": "login", "seq": 2, "node": 1, "ts_ns": 1' + b"0" * 400 + b"}",
        b'{"kind": "login", "seq": -2, "node": 1, "ts_ns": 1}',
    ],
    ids=["deep", "another type", "a large number", "a negative number"],
)
def test_lines_that_nobody_wrote(tmp_path: Path, line: bytes) -> None:
    """A line that is deep, or of other types, is told and ends nothing."""
    written(tmp_path, 1, 1, closed=False, tail=line + b"\n")

    assert problems(tmp_path) == [("unreadable", 2, "the line is no event")]
