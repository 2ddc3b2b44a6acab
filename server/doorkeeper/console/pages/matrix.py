"""Who reaches what: principals and topics as a picture, with the table behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.near_misses import principals_of
from doorkeeper.console.page import Asked, Page
from doorkeeper.console.pictures import matrix
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer, Command

PRINCIPALS: Final = 20
PATTERNS: Final = 24


def commands(asked: Asked) -> Sequence[Command]:
    """Return a command for each principal of the page that is asked for."""
    words = asked.set_words()
    kind = asked.get("type", "topic")
    return [
        asked.command("acls", "what-can", *words, f"--principal={name}", f"--resource-type={kind}")
        for name in principals(asked).items
    ]


def principals(asked: Asked) -> Rows:
    """Return the principals that the filter selects, a page of them."""
    state, text = asked.set_state(), asked.get("principal").casefold()
    if state is None or state.reading is None:
        return Rows([], 1)
    named = sorted(principals_of(state.reading.snapshot, Policy()))
    return Rows([one for one in named if text in one.casefold()], asked.number, PRINCIPALS)


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the picture, and the rows of its table."""
    names = principals(asked) if answers else Rows([], 1)
    text = asked.get("name").casefold()
    rows = [
        {
            (row["patternType"], row["name"]): row
            for row in answer.record["can"]
            if text in row["name"].casefold()
        }
        for answer in answers
    ]
    often = Counter(pattern for row in rows for pattern in row)
    most = [pattern for pattern, _ in often.most_common(PATTERNS)]
    columns = sorted(most, key=lambda pattern: pattern[1])
    cells = [
        (name, [row.get(column) for column in columns])
        for name, row in zip(names.items, rows, strict=False)
    ]
    return {
        "names": names,
        "columns": columns,
        "cells": cells,
        "left": len(often) - len(columns),
        "picture": matrix(columns, cells) if columns else None,
    }


PAGE = Page(
    "matrix",
    "Who reaches what?",
    "Principals and the resources that ACLs give them, as a picture: by a name, by a prefix, by all"
    " names, or denied.",
    commands,
    show,
)
