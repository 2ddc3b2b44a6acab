"""Everything that a principal may do, what is denied first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command


def commands(asked: Asked) -> Sequence[Command]:
    """Return the command, once a principal is named."""
    principal = asked.option("--principal", "principal")
    if not principal:
        return []
    words = [*asked.set_words(), *principal, *asked.option("--host", "host")]
    return [asked.command("acls", "what-can", *words, *asked.option("--resource-type", "type"))]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the rows of the page that is asked for: those with a DENY first."""
    can = answers[0].record["can"] if answers else ()
    return {"rows": Rows(sorted(can, key=lambda row: not row["denied"]), asked.number)}


PAGE = Page(
    "what-can",
    "What may a principal do?",
    "Everything that a principal may do, pattern by pattern, with what is denied first.",
    commands,
    show,
)
