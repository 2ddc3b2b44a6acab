"""The log of a command that does not serve."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import structlog

from doorkeeper.logs.command_log import command_logs

if TYPE_CHECKING:
    import pytest


def test_warnings_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """Of the server's parts and of plug-ins; what only informs stays away, data stays alone."""
    before = logging.root.handlers

    with command_logs():
        structlog.get_logger("doorkeeper.x").warning("a part", key="v")
        logging.getLogger("plugin").warning("a plug-in")
        logging.getLogger("plugin").info("not this")

    out, err = capfd.readouterr()
    assert out == ""
    assert [line.split("WARN ")[1] for line in err.splitlines()] == [
        " a part key=v (doorkeeper.x)",
        " a plug-in (plugin)",
    ]
    assert logging.root.handlers is before
