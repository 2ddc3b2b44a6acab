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
        words += asked.login_words(state)
    if asked.get("optional"):
        words.append("--include-optional")
    return [asked.command("learn", *words)]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the text of the form, and the ACLs of the page that is asked for."""
    acls = answers[0].record["acls"] if answers else ()
    return {"log": asked.text("log"), "acls": Rows(acls, asked.number)}


PAGE = Page(
    "learn",
    "Learn an application's ACLs",
    "Paste lines of an authorizer log or an audit log: the least ACLs that the application needs,"
    " and what they would newly allow.",
    commands,
    show,
    long=("log",),
)
