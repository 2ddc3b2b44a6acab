"""What a server logs inside a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.testing.log import TestLogs

if TYPE_CHECKING:
    import pytest


def test_secrets_are_hidden(caplog: pytest.LogCaptureFixture) -> None:
    """A field that may hold a secret is hidden, as in the server's own log."""
    TestLogs().logger("doorkeeper.server").error("odd", password="secret-of-alice")

    assert "secret-of-alice" not in caplog.text
    assert "password=[hidden]" in caplog.text
