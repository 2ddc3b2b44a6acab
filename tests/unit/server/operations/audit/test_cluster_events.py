"""Receipts and drift of clusters in an audit log."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.operations.audit.cluster_events import (
    cluster_events,
    event_text,
    receipts_of,
)

if TYPE_CHECKING:
    from pathlib import Path


def event(seq: int, kind: str = "IN_FORCE", **fields: Any) -> dict[str, Any]:
    """Return an event of second ``seq``."""
    return {
        "kind": "cluster", "seq": seq, "node": 1, "ts_ns": seq * 1_000_000_000, "time": "",
        "cluster": "a", "event": kind, "revision": seq, "missing": 0, "extra": 0,
        "brokers": [1, 2], "reason": "", **fields,
    }  # fmt: skip


def write(folder: Path, first: int, events: list[dict[str, Any]], last: int | None = None) -> Path:
    """Write a file of node 1."""
    folder.mkdir(exist_ok=True)
    end = ".jsonl.open" if last is None else f"-{last:012d}.jsonl"
    file = folder / f"audit-1-{first:012d}{end}"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events), encoding="utf-8")
    return file


def test_events_of_clusters_are_found_among_others(tmp_path: Path) -> None:
    """In all folders, in the order of their times; a line that is not whole is no event yet."""
    login = {"kind": "login", "seq": 2, "node": 1, "ts_ns": 2, "time": "", "cluster": "cluster"}
    closed = write(tmp_path / "one", 1, [event(1), login, event(3)], last=3)
    with write(tmp_path / "one", 4, [event(5)]).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(event(6)))
    write(tmp_path / "two", 1, [event(4)])

    found = cluster_events([tmp_path / "one", tmp_path / "two"], 0)

    assert [each["seq"] for each in found] == [1, 3, 4, 5]
    assert [each["seq"] for each in cluster_events([tmp_path / "one"], 3_000, 5_000)] == [3]
    os.utime(closed, (2, 2))  # a closed file has no event after its last change
    assert cluster_events([tmp_path / "one"], 3_000, 5_000) == []


def test_a_revision_is_in_force_with_the_first_receipt_of_it_or_a_later_one() -> None:
    """For each cluster."""
    events = [
        event(1, revision=1),
        event(2, "DRIFT", revision=1),
        event(3, revision=4),
        event(4, revision=5),
        event(5, revision=3, cluster="b"),
    ]

    found = {name: each["seq"] for name, each in receipts_of(events, 3).items()}

    assert found == {"a": 3, "b": 5}
    assert receipts_of(events, 6) == {}


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (event(7, brokers=[3]), "cluster a: revision 7 is in force on broker 3"),
        (event(7, "DRIFT", missing=1, extra=2), "cluster a: differs, 1 missing, 2 too many"),
        (event(7, "CHANGED", missing=1), "cluster a: was changed, 1 added, 0 removed"),
        (event(7, "FAILED", reason="no"), "cluster a: cannot be read or changed: no"),
    ],
)
def test_events_in_words(found: dict[str, Any], text: str) -> None:
    """Where a revision is in force, how many ACLs differ, and why nothing could be done."""
    assert event_text(found) == text
