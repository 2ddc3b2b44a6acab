"""Events with fields, by way of Python's ``logging``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.event_log import EventLog
from testkit.logs import captured_events, readable_logs

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_event_is_a_line_of_the_servers_log(tmp_path: Path) -> None:
    """With its fields, under its name and level; what is below the level is none."""
    log = EventLog("doorkeeper.part")
    with readable_logs(tmp_path / "log", {"doorkeeper.part": 20}) as logs:
        log.debug("a detail")
        log.info("done", count=2)
        log.warning("odd", configs={"sasl.jaas.config": "s3cret"})
        log.error("failed", exc_info=ValueError("this"))
        lines = logs.lines()

    assert [(line["level"], line["logger"], line["event"]) for line in lines] == [
        ("INFO", "doorkeeper.part", "done"),
        ("WARN", "doorkeeper.part", "odd"),
        ("ERROR", "doorkeeper.part", "failed"),
    ]
    assert lines[0]["count"] == 2
    assert "s3cret" not in str(lines)
    assert "ValueError: this" in lines[2]["exception"]


def test_an_exception_under_way_comes_with_its_traceback(tmp_path: Path) -> None:
    """``exception`` needs no name of it."""
    with readable_logs(tmp_path / "log") as logs:
        try:
            _ = 1 // 0
        except ZeroDivisionError:
            EventLog("a").exception("failed", name="b")
        (line,) = logs.lines()

    assert "ZeroDivisionError: integer division" in line["exception"]
    assert line["name"] == "b"


def test_another_handler_sees_text_and_fields(caplog: pytest.LogCaptureFixture) -> None:
    """Where there is no log of the server's, the message says it all."""
    EventLog("a").warning("the disk is full", left=0)

    assert caplog.messages == ["the disk is full left=0"]


def test_events_are_captured() -> None:
    """What other tests look at: event and fields, of any level."""
    with captured_events() as events:
        EventLog("a").debug("x", n=1)

    assert events == [{"event": "x", "exc_info": None, "n": 1}]
