"""Which levels of which loggers are written."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from testkit.logs import readable_logs

if TYPE_CHECKING:
    from pathlib import Path


def test_logger_inherits_its_level(tmp_path: Path) -> None:
    levels = {"kafka": 30, "kafka.authorizer.logger": 10}
    with readable_logs(tmp_path / "log", levels) as log:
        loggers = [
            log.logs.logger(name)
            for name in ("kafka.authorizer.logger", "kafka.authorizer", "kafkaesque")
        ]

        assert [logger.threshold.level for logger in loggers] == [10, 30, 20]


def test_level_changes_apply_to_existing_loggers(tmp_path: Path) -> None:
    with readable_logs(tmp_path / "log") as log:
        threshold = log.logs.logger("doorkeeper.net").threshold

        log.logs.set_levels({"doorkeeper": 5})
        changed = threshold.level, log.logs.logger("doorkeeper.net").threshold is threshold
        log.logs.set_levels({})

        assert (changed, threshold.level) == ((5, True), 20)


def test_python_records_are_logged(tmp_path: Path) -> None:
    """With the next lower of Kafka's levels; one that cannot be formatted stops nobody."""
    with readable_logs(tmp_path / "log", {"plugin": 5}) as log:
        raising, logging.raiseExceptions = logging.raiseExceptions, False
        try:
            logger = logging.getLogger("plugin")
            for level in (5, 15, 35, 70):
                logger.log(level, "level %d", level)
            logger.info("%d", "text")
        finally:
            logging.raiseExceptions = raising

        lines = [(line["level"], line["event"]) for line in log.lines()]
    assert lines == [
        ("TRACE", "level 5"),
        ("DEBUG", "level 15"),
        ("WARN", "level 35"),
        ("FATAL", "level 70"),
    ]
