"""Who could use a resource on a day, and who changed that since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.console.page import Asked, Page, Wrong
from doorkeeper.console.pictures import timeline
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command

CHANGES: Final = 500
"""The newest changes that a page looks at."""


def commands(asked: Asked) -> Sequence[Command]:
    """Return the changes; with a day and a resource who could then."""
    state = asked.set_state()
    if state is None or not state.has_history:
        if asked.get("at") or asked.get("name"):
            raise Wrong(
                f"{state.name if state else 'no address'} has no history; stores and backups have"
                " one: config:FILE, store:FOLDER, postgresql://USER@HOST/DATABASE, backup:FILE"
            )
        return []
    resource, at = asked.resource_words(), asked.get("at")
    kinds = ["--kind=acl"] if not asked.get("all") else []
    name = asked.get("name")
    named = [f"--resource={name}"] if name else []
    since = [f"--since={at}"] if at else []
    words = [asked.address_word(state), *since, *named, *kinds, *asked.option("--author", "author")]
    found = [asked.command("history", "list", *words, f"--limit={CHANGES}")]
    if at and resource:
        words = [*asked.set_words(), f"--at={at}", f"--operation={asked.get('operation', 'Read')}"]
        found.insert(0, asked.command("acls", "who-can", *words, *resource))
    return found


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the principals of that day, and the changes of the page that is asked for."""
    values: dict[str, Any] = {
        "who": None,
        "then": None,
        "histories": [name for name, state in asked.sets.states.items() if state.has_history],
    }
    if answers:
        page = answers[-1].record
        values |= {
            "revisions": Rows(page["revisions"], asked.number, 20),
            "older": page["before"],
            "picture": timeline(page["revisions"]),
        }
        if len(answers) > 1:
            values["then"] = answers[0].record
            values["who"] = Rows(answers[0].record["who"], 1)
    return values


PAGE = Page(
    "history",
    "Who could then, and who changed it?",
    "The principals that could use a resource on a day, and every change since: when, by whom, from"
    " where.",
    commands,
    show,
)
