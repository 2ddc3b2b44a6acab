"""Which addresses differ from the wanted set, ACL by ACL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command
from doorkeeper.console.sets import SetState


def commands(asked: Asked) -> Sequence[Command]:
    """Return a comparison of each other address with the wanted one."""
    wanted = asked.set_state()
    if wanted is None:
        return []
    found = []
    for other in others(asked, wanted):
        words = [asked.address_word(other), asked.address_word(wanted)]
        found.append(asked.command("acls", "diff", *words, *asked.login_words(other, wanted)))
    if asked.get("clusters") and wanted.names_clusters:
        found.append(asked.command("clusters", "drift", asked.address_word(wanted)))
    return found


def others(asked: Asked, wanted: SetState) -> list[SetState]:
    """Return the other addresses that have been read, or the chosen one alone."""
    chosen = asked.get("with")
    return [
        asked.sets.fresh(name)
        for name, state in asked.sets.states.items()
        if state is not wanted and state.reading is not None and chosen in ("", name)
    ]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the addresses with their differences; the rows of the one that was chosen."""
    wanted = asked.set_state() if asked.sets.states else None
    if wanted is None:
        return {"compared": [], "unread": [], "rows": None, "clusters": None, "wanted": None}
    compared = list(zip(others(asked, wanted), answers, strict=False))
    values: dict[str, Any] = {
        "wanted": wanted,
        "compared": [(state, answer.record) for state, answer in compared if answer.record],
        "unread": [state for state in asked.sets.states.values() if state.reading is None],
        "rows": None,
        "clusters": None,
    }
    if asked.get("clusters") and len(answers) > len(compared):
        values["clusters"] = answers[-1].record["clusters"]
    if asked.get("with") and values["compared"]:
        record = values["compared"][0][1]
        rows = [("add", row) for row in record["added"]]
        rows += [("remove", row) for row in record["removed"]]
        values["rows"] = Rows(rows, asked.number)
    return values


PAGE = Page(
    "drift",
    "Which clusters differ?",
    "Every address compared with the wanted set: what is missing there, and what is extra.",
    commands,
    show,
    prefers=lambda state: state.is_file,
)
