"""What is to be reached, each as a ratio to the broker of the same run, and whether it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from versus.table import KAFKA, OURS

if TYPE_CHECKING:
    from versus.table import Table


class Goal(NamedTuple):
    """A row at a number of ACLs, and the least ratio."""

    row: str
    how: str
    acls: int
    least: float


class Judged(NamedTuple):
    """A goal and what was measured; ``found`` is None where it was not."""

    text: str
    least: str
    found: str
    met: bool | None


RATIOS = (
    *(
        Goal(row, how, acls, least)
        for row in ("ApiVersions", "Metadata, no topics", "Metadata, one topic")
        for acls in (1_000, 10_000, 100_000)
        for how, least in (("32 x 1", 1.0), ("32 x 16", 1.5))
    ),
    *(
        Goal(f"DescribeAcls, {row}", how, acls, least)
        for row in ("one resource", "one principal", "MATCH")
        for acls, least in ((10_000, 5.0), (100_000, 100.0))
        for how in ("32 x 1", "32 x 16")
    ),
    *(
        Goal("DescribeAcls, everything", how, acls, least)
        for acls, least in ((10_000, 2.0), (100_000, 10.0))
        for how in ("1 x 1", "after each change")
    ),
    *(
        Goal("CreateAcls of 1", how, acls, least)
        for acls in (10_000, 100_000)
        for how, least in (("1 connection", 10.0), ("64 connections", 100.0))
    ),
    *(Goal("CreateAcls of 1,000", "1 connection", acls, 2.0) for acls in (10_000, 100_000)),
    Goal("authorize(), plain", "in process", 100_000, 2.0),
    Goal("authorize(), wildcards", "in process", 100_000, 100.0),
    Goal("authorizeByResourceType, plain", "in process", 100_000, 1_000.0),
    Goal("start to first answer", "", 0, 8.0),
    Goal("start to first answer", "", 100_000, 3.0),
    Goal("memory, after serving", "", 0, 12.0),
    Goal("memory, just started", "", 100_000, 5.0),
)

FLAT = 1.5
"""The most that a decision among a million ACLs may take of one among a thousand."""

PATIENCE_MS = 5.0
"""The most that a small request's 99th percentile may be longer beside a full description."""


def judged(table: Table) -> list[Judged]:
    """Return all goals; those whose numbers of ACLs were not part of the run are left out."""
    sizes = {acls for _, _, acls in table.rows}
    found = [_of_ratio(table, goal) for goal in RATIOS if goal.acls in sizes]
    found += [_flat(table, kind) for kind in ("plain", "wildcards")]
    found.append(_patient(table))
    return [each for each in found if each.met is not None or each.found]


def _of_ratio(table: Table, goal: Goal) -> Judged:
    row = table.find(goal.row, goal.how, goal.acls)
    ratio = None if row is None else row.ratio(KAFKA)
    where = f"{goal.acls:,} ACLs" if goal.acls else "empty"
    text = ", ".join(part for part in (goal.row, goal.how, where) if part)
    if ratio is None:
        return Judged(text, f">= {goal.least:g}x", "", None)
    return Judged(text, f">= {goal.least:g}x", f"{ratio:,.2f}x", ratio >= goal.least)


def _flat(table: Table, kind: str) -> Judged:
    few, many = (
        table.find(f"authorize(), {kind}", "in process", acls) for acls in (1_000, 1_000_000)
    )
    text = f"authorize() at 1,000,000 / at 1,000, {kind}"
    if few is None or many is None:
        return Judged(text, f"<= {FLAT}x", "", None)
    ratio = (many.of(OURS) or 0) / (few.of(OURS) or 1)
    return Judged(text, f"<= {FLAT}x", f"{ratio:.2f}x", ratio <= FLAT)


def _patient(table: Table) -> Judged:
    name = "p99 of a small request beside "
    text = f"{name}full descriptions of 100,000, more than alone"
    alone, beside = (
        table.find(name + what, "1 x 1", 100_000) for what in ("nothing", "full descriptions")
    )
    if alone is None or beside is None:
        return Judged(text, f"<= {PATIENCE_MS:g} ms", "", None)
    more = (beside.of(OURS) or 0) - (alone.of(OURS) or 0)
    return Judged(text, f"<= {PATIENCE_MS:g} ms", f"{more:.2f} ms", more <= PATIENCE_MS)
