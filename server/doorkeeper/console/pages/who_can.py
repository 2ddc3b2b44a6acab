"""Who may use a resource, from where, and by which ACL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.acls.model import CLUSTER_NAME, ResourceType
from doorkeeper.console.page import TYPE_OF, Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once a resource is named."""
    resource = asked.resource_words()
    if not resource:
        return []
    words = [*asked.set_words(), f"--operation={asked.get('operation', 'Read')}", *resource]
    if asked.is_prefixed:
        words.append("--resource-pattern-type=prefixed")
    return [asked.command("acls", "who-can", *words, *asked.option("--host", "host"))]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the rows of the page that is asked for."""
    values: dict[str, Any] = {}
    if answers:
        who = answers[0].record["who"]
        text = asked.get("filter").casefold()
        who = [row for row in who if text in row["principal"].casefold()] if text else who
        values["rows"] = Rows(who, asked.number)
        state, kind = asked.set_state(), TYPE_OF[asked.get("kind", "topic")]
        if state is not None and state.reading is not None and not asked.is_prefixed:
            index = state.reading.snapshot
            name = CLUSTER_NAME if kind is ResourceType.CLUSTER else asked.get("name")
            values["covered"] = index.covers(kind, name)
    return values


PAGE = Page(
    "who-can",
    "Who can use it?",
    "The principals that may read or change a topic, a group or another resource, from where, and"
    " by which ACL.",
    commands,
    show,
)
