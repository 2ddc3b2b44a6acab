"""Unused and too wide grants, with the evidence of the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from doorkeeper.console.page import Asked, Page
from doorkeeper.console.pictures import bars
from doorkeeper.console.rendering import Rows
from doorkeeper.console.runs import Answer

KINDS: Final = {"unused": "unused", "wide": "too wide", "all": "all grants"}


def answers(asked: Asked) -> Sequence[Answer]:
    """Return the grants of the folder of --advice; nothing without one."""
    return [] if asked.advice is None else [asked.advice.answer()]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the grants of the page that is asked for, and one with its use over days."""
    kind, text = asked.get("kind", "unused"), asked.get("principal").casefold()
    values: dict[str, Any] = {"kinds": KINDS, "kind": kind, "one": None, "picture": None}
    if not answers:
        return values
    grants = answers[0].record["grants"]
    values["totals"] = {
        "unused": sum(one["unused"] for one in grants),
        "wide": sum(one["wide"] for one in grants),
        "all": len(grants),
    }
    chosen = [
        one
        for one in grants
        if (kind == "all" or one.get(kind)) and text in one["acl"]["principal"].casefold()
    ]
    values["grants"] = Rows(chosen, asked.number)
    one = next((one for one in grants if one["id"] == asked.get("grant")), None)
    if one is not None and asked.advice is not None:
        values |= {"one": one, "picture": bars(asked.advice.uses_by_day(one), "Uses by day")}
    return values


PAGE = Page(
    "grants",
    "Unused and too wide grants",
    "What the pipeline has seen of each grant: how often it was used, what it covers beyond that,"
    " and whether the evidence is enough to remove it.",
    show=show,
    answers=answers,
    needs_set=False,
)
