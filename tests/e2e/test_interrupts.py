"""Ctrl-C at a terminal, as somebody types it: the first one ends a command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from testkit.terminals import at_terminal

if TYPE_CHECKING:
    from pathlib import Path

DOORKEEPER = (sys.executable, "-m", "doorkeeper")
ROWS = """KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
"""


def test_ctrl_c_at_the_question_of_apply(tmp_path: Path) -> None:
    (tmp_path / "acls.csv").write_text(ROWS)
    (tmp_path / "server.properties").write_text(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"doorkeeper.data.dir={tmp_path / 'data'}\n"
    )
    words = (*DOORKEEPER, "acls", "apply", "acls.csv", "config:server.properties")

    with at_terminal(words, os.environ, tmp_path) as terminal:
        terminal.read_until(b"Apply this plan? [y/N]: ")
        terminal.interrupt()

        assert terminal.status() == 130
    assert terminal.shown.endswith(b"doorkeeper: interrupted; nothing was changed\r\n")


def test_ctrl_c_while_reading_acls(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = (*DOORKEEPER, "acls", "lint", str(pipe))
    with at_terminal(words, os.environ, tmp_path) as terminal, pipe.open("wb"):  # it reads now
        terminal.interrupt()

        assert terminal.status() == 130
    assert terminal.shown == b"^C\r\ndoorkeeper: interrupted\r\n"
