"""What Python's logging brings into the same log."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING

from testkit.logs import readable_logs

if TYPE_CHECKING:
    from pathlib import Path


def test_records_become_events(tmp_path: Path) -> None:
    """A plug-in's record has its logger, level, text and traceback."""
    # What another test left behind is logged when it is collected: not in here.
    gc.collect()
    with readable_logs(tmp_path / "log") as log:
        logger = logging.getLogger("com.example.plugin")
        logger.info("hello %s", "there")
        try:
            _ = 1 // 0
        except ZeroDivisionError:
            logger.exception("failed")
        lines = log.lines()

    assert [(line["level"], line["logger"], line["event"]) for line in lines] == [
        ("INFO", "com.example.plugin", "hello there"),
        ("ERROR", "com.example.plugin", "failed"),
    ]
    assert "ZeroDivisionError" in lines[1]["exception"]


def test_levels_apply_to_python_loggers(tmp_path: Path) -> None:
    """Levels by logger are given to Python's loggers, and taken back when they are set anew."""
    with readable_logs(tmp_path / "log", {"a": 10, "root": 30}) as log:
        logger = logging.getLogger("a.b")
        assert logger.isEnabledFor(logging.DEBUG)
        logger.debug("one")
        logging.getLogger("b").info("not written")

        log.logs.set_levels({})
        assert not logger.isEnabledFor(logging.DEBUG)
        logger.log(25, "two")
        lines = log.lines()

    assert [(line["level"], line["event"]) for line in lines] == [("DEBUG", "one"), ("INFO", "two")]
