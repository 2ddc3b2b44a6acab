"""The least ACLs of an application, from the log of its requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once there is a log."""
    if not asked.get("log"):
        return []
    words = [f"--log={asked.file('log', 'kafka-authorizer.log')}"]
    words += asked.option("--principal", "principal")
    state = asked.set_state()
    if state is not None:
        words += [f"--acls={asked.address_word(state)}", "--allow-wider"]
        if state.address.is_live and asked.settings.command_config is not None:
            words.append(f"--command-config={asked.settings.command_config}")
    if asked.get("optional"):
        words.append("--include-optional")
    return [asked.command("learn", *words)]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the text of the form, and the ACLs of the page that is asked for."""
    values: dict[str, Any] = {"log": asked.text("log")}
    if answers:
        values["acls"] = Rows(answers[0].record["acls"], asked.number)
    return values


PAGE = Page(
    "learn",
    "Learn an application's ACLs",
    "Paste lines of an authorizer log or an audit log: the least ACLs that the application needs,"
    " and what they would newly allow.",
    commands,
    show,
    long=("log",),
)
