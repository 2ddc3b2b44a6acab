"""doorkeeper.server.operations.logs.authorizer_file: a broker's kafka-authorizer.log."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.decision import Decision, RuleKind
from doorkeeper.acls.model import PatternType
from doorkeeper.server.authorizer.authorizer_log import FORMS
from doorkeeper.server.authorizer.contract import Action
from doorkeeper.server.operations.logs.authorizer_file import AuthorizerFile, render
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from testkit.acl import DESCRIBE, READ, deny, request_of, topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR_NS = 3600 * 10**9
# 2024-10-25 10:11:12.345 UTC
AT_NS = 1_729_851_072_345_678_901

MATCHED = Decision(
    allowed=False,
    rule=RuleKind.MATCHING_ACL,
    binding=deny("bob", READ, topic("foo", PatternType.PREFIXED)),
)
HEAD = "Principal = User:alice is Denied "


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let local time be UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_line_breaks_in_names_are_escaped() -> None:
    forged = "x\n[2024-10-25 10:11:12,345] INFO Principal = User:bob is Allowed"

    line = render(AT_NS, 20, f"{HEAD}Operation = Read on resource = Group:{forged}")

    assert line.count(b"\n") == 1
    assert rb"Group:x\n[2024-10-25" in line


class World:
    def __init__(self, folder: Path, queued_bytes_max: int = 1 << 20) -> None:
        self.path = folder / "kafka-authorizer.log"
        self.now_ns = AT_NS
        self.threshold = LoggerThreshold(20)
        self.errors: list[OSError] = []
        self.file = AuthorizerFile(
            self.path,
            self.threshold,
            now_ns=lambda: self.now_ns,
            failed=self.errors.append,
            queued_bytes_max=queued_bytes_max,
        )

    def close(self) -> None:
        self.file.close(10)
        assert self.file._queue.close()

    def lines(self, suffix: str = "") -> list[str]:
        return self.path.with_name(self.path.name + suffix).read_text().splitlines()


def test_line_matches_the_broker() -> None:
    context = request_of("alice", host="10.0.0.7", api_key=3)
    text = FORMS["4.2"](context, Action(DESCRIBE, topic("orders")), MATCHED)

    assert render(AT_NS, 20, text).decode() == (
        f"[2024-10-25 10:11:12,345] INFO {HEAD}operation = DESCRIBE from host = 10.0.0.7 on"
        " resource = Topic:LITERAL:orders for request = Metadata with resourceRefCount = 1 based on"
        " rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=foo,"
        " patternType=PREFIXED, principal=User:bob, host=*, operation=READ, permissionType=DENY])"
        " (kafka.authorizer.logger)\n"
    )


def test_levels_select_lines(tmp_path: Path) -> None:
    w = World(tmp_path)
    w.file.write(10, "allowed")
    w.threshold.level = 10
    w.file.write(10, "allowed later")
    w.file.write(20, "denied")
    w.close()

    assert [line.split("] ")[1] for line in w.lines()] == [
        "DEBUG allowed later (kafka.authorizer.logger)",
        "INFO denied (kafka.authorizer.logger)",
    ]
    assert w.path.stat().st_mode & 0o777 == 0o600


def test_one_file_per_hour(tmp_path: Path) -> None:
    path = tmp_path / "kafka-authorizer.log"
    path.write_text("before\n")
    os.utime(path, ns=(AT_NS - HOUR_NS,) * 2)
    w = World(tmp_path)
    for text, hours in (("a", 0), ("b", 1), ("c", 0), ("d", 1)):
        w.now_ns = AT_NS + hours * HOUR_NS
        w.file.write(20, text)
    w.close()

    assert w.lines(".2024-10-25-09") == ["before"]
    assert "INFO a " in w.lines(".2024-10-25-10")[0]
    assert "INFO b " in w.lines(".2024-10-25-11")[0]
    assert "INFO c " in w.lines(".2024-10-25-10-2")[0]
    assert ["INFO d " in line for line in w.lines()] == [True]
    assert len(list(tmp_path.iterdir())) == 5


def test_rolling_goes_on_without_the_file(tmp_path: Path) -> None:
    """Others may move or delete it. Every later line was lost."""
    w = World(tmp_path)
    w.file.write(20, "a")
    deadline_s = time.monotonic() + 10
    while not w.path.stat().st_size and time.monotonic() < deadline_s:
        time.sleep(0.001)
    w.path.rename(tmp_path / "moved")
    w.now_ns += HOUR_NS
    w.file.write(20, "b")
    w.close()

    assert not w.errors
    assert "INFO b " in w.lines()[0]
    assert "INFO a " in (tmp_path / "moved").read_text()


def test_lost_lines_are_counted(tmp_path: Path) -> None:
    w = World(tmp_path, queued_bytes_max=1)
    w.file.write(20, "a")
    w.file.write(20, "b")
    w.close()

    assert [line.split("] ")[1] for line in w.lines() if "lost" in line]
    assert sum(int(re.findall(r"(\d+) lines", line)[0]) for line in w.lines()) == 2


def test_disk_failure_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = World(tmp_path)
    write = os.write
    state = {"full": True}

    def writing(descriptor: int, data: memoryview) -> int:
        if state["full"] and len(data) <= 20:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:-20] if state["full"] else data)

    monkeypatch.setattr("doorkeeper.server.operations.logs.pipeline.os.write", writing)
    w.file.write(20, "a")
    w.file.write(20, "b")
    deadline_s = time.monotonic() + 10
    while w.file._queue.size and time.monotonic() < deadline_s:
        time.sleep(0.001)
    state["full"] = False
    w.file.write(20, "c")
    w.close()

    assert [str(error) for error in w.errors] == ["[Errno 28] No space left on device"]
    # What the full disk has cut is a line of its own, and readers learn that lines are missing.
    assert [
        line.split("] ")[-1] for line in w.lines() if line.endswith("(kafka.authorizer.logger)")
    ] == [
        "INFO c (kafka.authorizer.logger)",
        "WARN 2 lines were lost: the disk is full or too slow (kafka.authorizer.logger)",
    ]
