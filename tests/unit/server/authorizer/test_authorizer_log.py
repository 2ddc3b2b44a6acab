"""The standard library's logger as a sink of authorizer log lines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from doorkeeper.server.authorizer.authorizer_log import DEBUG, INFO, TRACE, StandardLibraryLog

if TYPE_CHECKING:
    import pytest


def test_lines_are_logged_at_kafkas_level(caplog: pytest.LogCaptureFixture) -> None:
    audit = StandardLibraryLog()
    with caplog.at_level(DEBUG, "kafka.authorizer.logger"):
        audit.write(INFO, "topic %s")

    assert caplog.record_tuples == [("kafka.authorizer.logger", logging.INFO, "topic %s")]


def test_logger_level_applies(caplog: pytest.LogCaptureFixture) -> None:
    audit = StandardLibraryLog()

    with caplog.at_level(INFO, "kafka.authorizer.logger"):
        assert audit.threshold.level == INFO
    with caplog.at_level(TRACE, "kafka.authorizer.logger"):
        assert audit.threshold.level == TRACE
