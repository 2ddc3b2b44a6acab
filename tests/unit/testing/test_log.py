"""What a server logs inside a test."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from doorkeeper.testing.log import TestLogs

if TYPE_CHECKING:
    import pytest


def test_events_are_records(caplog: pytest.LogCaptureFixture) -> None:
    """An event is a record of the logger of the same name, its fields behind it."""
    caplog.set_level(logging.DEBUG, "doorkeeper.net")
    log = TestLogs().logger("doorkeeper.net")

    log.trace("a", number=1)
    log.debug("b")
    log.info("c", peer="127.0.0.1")
    log.warning("d")
    log.error("e", exc_info=ValueError("why"))

    found = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert found == [
        ("doorkeeper.net", "DEBUG", "a number=1"),
        ("doorkeeper.net", "DEBUG", "b"),
        ("doorkeeper.net", "INFO", "c peer=127.0.0.1"),
        ("doorkeeper.net", "WARNING", "d"),
        ("doorkeeper.net", "ERROR", "e"),
    ]
    assert caplog.records[-1].exc_info is not None


def test_secrets_are_hidden(caplog: pytest.LogCaptureFixture) -> None:
    """A field that may hold a secret is hidden, as in the server's own log."""
    TestLogs().logger("doorkeeper.server").error("odd", password="secret-of-alice")

    assert "secret-of-alice" not in caplog.text
    assert "password=[hidden]" in caplog.text
