"""From an event to a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from testkit.logs import readable_logs

if TYPE_CHECKING:
    from pathlib import Path


def test_events_have_level_and_logger(tmp_path: Path) -> None:
    with readable_logs(tmp_path / "log", {"a.loud": 5, "a.quiet": 40}) as log:
        loud, quiet = structlog.get_logger("a.loud"), structlog.get_logger("a.quiet")
        loud.trace("t")
        loud.debug("d")
        loud.info("i", x=1)
        quiet.warning("w")
        quiet.error("e")

        lines = log.lines()

    assert [(line["level"], line["logger"], line["event"]) for line in lines] == [
        ("TRACE", "a.loud", "t"),
        ("DEBUG", "a.loud", "d"),
        ("INFO", "a.loud", "i"),
        ("ERROR", "a.quiet", "e"),
    ]
    assert lines[2]["x"] == 1


def test_secrets_are_hidden(tmp_path: Path) -> None:
    """No processor order and no form lets a secret's value through."""
    with readable_logs(tmp_path / "log") as log:
        structlog.get_logger("a").info(
            "i", password="s3cret", configs={"sasl.jaas.config": "s3cret"}
        )
        lines = log.lines()

    assert "s3cret" not in str(lines)


def test_long_texts_are_truncated(tmp_path: Path) -> None:
    """A peer cannot fill the disk with a name; resources in the authorizer log stay whole."""
    with readable_logs(tmp_path / "log") as log:
        structlog.get_logger("a").info("x" * 5000, reason="y" * 64_000, count=7)
        log.logs.authorizer_log.write(20, "z" * 5000)
        line, authorizer_line = log.lines()

    assert line["event"] == f"{'x' * 1000}... (5,000 characters)"
    assert line["reason"] == f"{'y' * 1000}... (64,000 characters)"
    assert authorizer_line["event"] == "z" * 5000


def test_audit_logger_writes_kafkas_lines(tmp_path: Path) -> None:
    """Its lines are those of kafka.authorizer.logger; INFO and above, unless a level says more."""
    with readable_logs(tmp_path / "log", {"kafka.authorizer.logger": 10}) as log:
        audit = log.logs.authorizer_log
        assert audit.threshold.level == 10
        audit.write(5, "probe")
        audit.write(10, "Principal = User:a is Allowed")
        lines = log.lines()

    assert [(line["level"], line["logger"], line["event"]) for line in lines] == [
        ("DEBUG", "kafka.authorizer.logger", "Principal = User:a is Allowed")
    ]
