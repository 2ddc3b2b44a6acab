"""Who reaches what: principals and topics as a picture, with the table behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.acls.model import ResourceType
from doorkeeper.console.page import TYPES, Asked, Page, Wrong
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
    """Return the principals with ACLs that the filters select, a page of them."""
    state, text, kind = asked.set_state(), asked.get("principal").casefold(), _type(asked)
    if state is None or state.reading is None:
        return Rows([], 1)
    name = asked.get("name").casefold()
    index = state.reading.snapshot.types[kind]
    named = [
        principal
        for principal, cells in sorted(index.principals.items())
        if text in principal.casefold()
        and (not name or any(name in pattern[0].casefold() for pattern in cells.patterns()))
    ]
    return Rows(named, asked.number, PRINCIPALS)


def _type(asked: Asked) -> ResourceType:
    word = asked.get("type", TYPES[0])
    if word not in TYPES:
        raise Wrong(f"found the resource type {word!r}; allowed: {', '.join(TYPES)}")
    return ResourceType[word.upper().replace("-", "_")]


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
    frequent = [pattern for pattern, _ in often.most_common(PATTERNS)]
    columns = sorted(frequent, key=lambda pattern: pattern[1])
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
