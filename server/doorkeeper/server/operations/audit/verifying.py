"""Verification of an audit log: complete numbers, readable lines, correct order.

Kinds of problems:

 gap          numbers are missing between two events of a node
 order        a repeated number, or numbers that go back
 torn         the last line of a closed file is incomplete
 unreadable   a line that is not an event, or a file that is unreadable or contradicts its name
 clock        the time goes back by more than a second; a hint, not an error: clocks are set

The first number of a node need not be 1: old files are deleted. An open file may end in the middle
of a line. The server may be running: files that it closes, or deletes for their age, between the
listing and the reading are listed again and are not problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from doorkeeper.server.operations.audit.names import AuditFile, files_in
from doorkeeper.server.operations.audit.reading import GoneFile, UnreadableFile, event_of, lines_of

GAP, ORDER, TORN, UNREADABLE, CLOCK = "gap", "order", "torn", "unreadable", "clock"

# Clocks are corrected by less than this all the time.
CLOCK_NS: Final = 1_000_000_000

PROBLEMS_MAX: Final = 1000
"""Greatest number of listed problems; further ones are only counted."""


class AuditProblem(msgspec.Struct, kw_only=True):
    """One problem. ``line`` is None for a problem of the whole file."""

    kind: str
    node: int
    file: str
    line: int | None
    text: str


@dataclass(slots=True, kw_only=True)
class Verdict:
    """The result of a verification."""

    files: int = 0
    open_files: int = 0
    events: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    """The number of missing occurrences according to the log itself."""
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    problems: list[AuditProblem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_whole(self) -> bool:
        """Say whether there are events without a problem; a clock that was set back is none."""
        faults = any(count for kind, count in self.counts.items() if kind != CLOCK)
        return bool(self.events) and not faults

    def add(self, problem: AuditProblem) -> None:
        self.counts[problem.kind] += 1
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return {
            "whole": self.is_whole,
            "files": self.files,
            "openFiles": self.open_files,
            "events": dict(sorted(self.events.items())),
            "dropped": self.dropped,
            "nodes": [
                {"node": node, "first": self.first[node], "last": self.last[node]}
                for node in sorted(self.first)
            ],
            "problemCounts": dict(self.counts),
            "problems": msgspec.to_builtins(self.problems),
        }


def verify_log(folder: Path) -> Verdict:
    verdict = Verdict()
    for node in sorted({file.node for file in files_in(folder)}):
        _Node(node, verdict).verify(folder)
    return verdict


def _files_of(folder: Path, node: int) -> list[AuditFile]:
    """Return a node's files; a closed file hides the open one with the same first event."""
    files = [file for file in files_in(folder) if file.node == node]
    whole = {file.first for file in files if file.last is not None}
    return [file for file in files if file.last is not None or file.first not in whole]


class _Node:
    """The state of a node's verification, event after event."""

    def __init__(self, node: int, verdict: Verdict) -> None:
        self.node = node
        self._verdict = verdict
        self._last_seq: int | None = None
        self._last_ns = 0

    def verify(self, folder: Path) -> None:
        left = _files_of(folder, self.node)
        while left:
            file = left.pop(0)
            try:
                self._take(file)
            except GoneFile:
                now = _files_of(folder, self.node)
                if file in now:
                    self._wrong(UNREADABLE, file, None, "it is a link that leads nowhere")
                elif all(other.first >= file.first for other in now):
                    # Deleted for its age, as all before it: any number may be next.
                    self._last_seq = None
                elif all(other.first != file.first for other in now):
                    self._wrong(UNREADABLE, file, None, "it was there and is gone")
                # The server has closed the file under another name meanwhile: continue with the
                # new listing.
                left = [other for other in now if other.first >= file.first and other != file]
            else:
                self._verdict.files += 1
                self._verdict.open_files += file.last is None

    def _take(self, file: AuditFile) -> None:
        seqs = []
        try:
            for line, event in self._events(file):
                self._check(file, line, event)
                seqs.append(event["seq"])
        except GoneFile:
            raise
        except UnreadableFile as error:
            self._wrong(UNREADABLE, file, None, str(error))
            # The rest of the file is unread: report the file, not a gap after it.
            self._last_seq = file.last
            return
        if file.last is not None and seqs[:1] + seqs[-1:] != [file.first, file.last]:
            actual = f"{seqs[0]} to {seqs[-1]}" if seqs else "none"
            expected = f"{file.first} to {file.last}"
            self._wrong(UNREADABLE, file, None, f"its name says events {expected}; found {actual}")

    def _events(self, file: AuditFile) -> Iterator[tuple[int, dict[str, Any]]]:
        for line in lines_of(file):
            if not line.is_whole:
                if file.last is not None:
                    text = f"the last line has no end: {len(line.data)} bytes"
                    self._wrong(TORN, file, line.number, text)
                return
            event = event_of(line.data)
            if event is None:
                self._wrong(UNREADABLE, file, line.number, "the line is not an event")
            else:
                yield line.number, event

    def _check(self, file: AuditFile, line: int, event: dict[str, Any]) -> None:
        verdict, seq, ts_ns = self._verdict, event["seq"], event["ts_ns"]
        verdict.events[event["kind"]] += 1
        if event["kind"] == "dropped" and isinstance(event.get("count"), int):
            verdict.dropped += event["count"]
        if event["node"] != self.node:
            self._wrong(UNREADABLE, file, line, f"an event of node {event['node']}")
        last = self._last_seq
        if last is not None and seq > last + 1:
            missing = (
                f"event {last + 1} is" if seq == last + 2 else f"events {last + 1} to {seq - 1} are"
            )
            self._wrong(GAP, file, line, f"{missing} missing")
        elif last is not None and seq <= last:
            self._wrong(ORDER, file, line, f"event {seq} comes after event {last}")
        if ts_ns + CLOCK_NS < self._last_ns:
            back_s = (self._last_ns - ts_ns) / 1e9
            self._wrong(CLOCK, file, line, f"the time goes back by {back_s:.1f} s")
        self._last_seq, self._last_ns = seq, ts_ns
        verdict.first.setdefault(self.node, seq)
        verdict.last[self.node] = seq

    def _wrong(self, kind: str, file: AuditFile, line: int | None, text: str) -> None:
        self._verdict.add(
            AuditProblem(kind=kind, node=self.node, file=file.path.name, line=line, text=text)
        )
