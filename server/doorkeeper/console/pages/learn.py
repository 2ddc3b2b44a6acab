"""The least ACLs of an application, from the log of its requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
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
    """Return the text of the form, and the regions that the ACLs would newly allow."""
    lines = answers[0].lines if answers else ()
    head = "# newly allows: "
    return {
        "log": asked.text("log"),
        "new": [line.removeprefix(head) for line in lines if line.startswith(head)],
        "yaml": "\n".join(line for line in lines if not line.startswith(head)),
    }


PAGE = Page(
    "learn",
    "Learn an application's ACLs",
    "Paste lines of an authorizer log or an audit log: the least ACLs that the application needs,"
    " and what they would newly allow.",
    commands,
    show,
    long=("log",),
    format="yaml",
)
