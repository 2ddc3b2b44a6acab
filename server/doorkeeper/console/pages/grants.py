"""Unused and too wide grants, with the evidence of the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from doorkeeper.acls.formats.csv import binding_of_row
from doorkeeper.console.page import Asked, Page
from doorkeeper.console.pictures import bars
from doorkeeper.console.rendering import Rows, row_of_record
from doorkeeper.console.runs import Answer

KINDS: Final = {"unused": "unused", "wide": "too wide", "all": "all grants"}


def answers(asked: Asked) -> Sequence[Answer]:
    """Return the grants of the folder of --advice; nothing without one."""
    return [] if asked.advice is None else [asked.advice.answer()]


def show(asked: Asked, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the grants of the page that is asked for, and one with its use over days."""
    kind, text = asked.get("kind", "unused"), asked.get("principal").casefold()
    values: dict[str, Any] = {"kinds": KINDS, "kind": kind, "grant": None, "picture": None}
    if not answers:
        return values
    grants = answers[0].record["grants"]
    totals = {name: sum(grant[name] for grant in grants) for name in ("unused", "wide")}
    values["totals"] = totals | {"all": len(grants)}
    chosen = [
        grant
        for grant in grants
        if (kind == "all" or grant.get(kind)) and text in grant["acl"]["principal"].casefold()
    ]
    values["grants"] = Rows(chosen, asked.number)
    state = asked.set_state()
    there = None if state is None or state.reading is None else state.reading.snapshot
    values["gone"] = [
        row["id"]
        for row in values["grants"].items
        if there is not None and binding_of_row(row_of_record(row["acl"])) not in there
    ]
    values["cluster"] = ", ".join(sorted({grant["cluster"] for grant in grants} - {""}))
    values["days"] = days = asked.advice.days if asked.advice is not None else []
    if days:
        today = datetime.fromtimestamp(asked.sets.now_s(), UTC).date()
        values["age"] = (today - date.fromisoformat(days[-1])).days
    grant = next((grant for grant in grants if grant["id"] == asked.get("grant")), None)
    if grant is not None and asked.advice is not None:
        values |= {"grant": grant, "picture": bars(asked.advice.uses_by_day(grant), "Uses by day")}
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
