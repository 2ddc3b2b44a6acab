"""What principals may use, and do not."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from doorkeeper_pipeline.report.frames import Frames, Row, place_of
from doorkeeper_pipeline.report.grants import NO_ACLS
from doorkeeper_pipeline.report.model import About, Column, Kind, Section, Share, Table, Value

EVERYONE = "User:*"
_AFTER = chr(0x10FFFF)


class Power(NamedTuple):
    """The access of a principal: its grants and used ones, the names it may use and did use."""

    principal: str
    grants: int
    used: int
    names_covered: int
    names_used: int


def power_of(frames: Frames, about: About) -> Section:
    """Return the section about what principals may use and do not."""
    usage = frames.get("grant_usage")
    section_id, word, title = "power", "Power", "What each principal may use, and does"
    if usage is None:
        return Section(id=section_id, word=word, title=title, missing=NO_ACLS)
    allows = usage.filter(pl.col("permission_type") == "ALLOW").collect().to_dicts()
    powers = powers_of(allows, frames["decisions"])
    return Section(id=section_id, word=word, title=title, tables=(_powers_table(powers, about),))


def powers_of(allows: Iterable[Row], decisions: pl.LazyFrame) -> list[Power]:
    """Return the access of each principal with grants, the largest unused part first.

    Names are those of the history, and those that a literal grant has.
    """
    names = (
        decisions.select("resource_type", "resource_name").unique().collect().sort("resource_name")
    )
    known: dict[str, list[str]] = defaultdict(list)
    for kind, name in names.iter_rows():
        known[kind].append(name)
    used = (
        decisions.filter(pl.col("outcome") == "ALLOWED")
        .group_by("principal")
        .agg(pl.struct("resource_type", "resource_name").n_unique())
        .collect()
    )
    names_used = dict(used.iter_rows())
    by_principal: dict[str, list[Row]] = defaultdict(list)
    for row in allows:
        by_principal[row["principal"]].append(row)
    found = []
    for principal, rows in by_principal.items():
        covered = sum(
            _count_names(known[kind], [row for row in rows if row["resource_type"] == kind])
            for kind in {row["resource_type"] for row in rows}
        )
        if principal == EVERYONE:
            using = len({(row["resource_type"], name) for row in rows for name in row["resources"]})
        else:
            using = min(names_used.get(principal, 0), covered)
        grants_used = sum(row["used"] for row in rows)
        found.append(Power(principal, len(rows), grants_used, covered, using))
    return sorted(found, key=lambda each: (each.names_used - each.names_covered, each.principal))


def _count_names(known: list[str], rows: list[Row]) -> int:
    """Return how many names some grants cover, each once; ``known`` is sorted."""
    literals = set()
    intervals = []
    for row in rows:
        name = row["resource_name"]
        if row["pattern_type"] == "PREFIXED":
            intervals.append((bisect_left(known, name), bisect_left(known, name + _AFTER)))
        elif name == "*":
            intervals.append((0, len(known)))
        else:
            literals.add(name)
    count = end = 0
    for begin, stop in sorted(intervals):
        count += max(0, stop - max(begin, end))
        end = max(end, stop)
    return count + sum(not _is_within(known, intervals, name) for name in literals)


def _is_within(known: list[str], intervals: list[tuple[int, int]], name: str) -> bool:
    """Say whether a name of the history lies in one of some intervals of names."""
    at = bisect_left(known, name)
    is_known = at < len(known) and known[at] == name
    return is_known and any(begin <= at < stop for begin, stop in intervals)


def _powers_table(powers: list[Power], about: About) -> Table:
    def row_of(each: Power) -> tuple[Value, ...]:
        return (
            each.principal,
            Share(each.used, each.grants),
            Share(each.names_used, each.names_covered),
            each.names_covered - each.names_used,
        )

    return Table(
        id="excess",
        title="Names that may be used, and are",
        note="Names are those that occur in the history or in a grant. A grant to User:* counts"
        " for User:* alone.",
        columns=(
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Grants used", kind=Kind.SHARE),
            Column(title="Names used", kind=Kind.SHARE),
            Column(title="Names not used", kind=Kind.NUMBER),
        ),
        rows=tuple(map(row_of, powers[: about.rows_max])),
        total=len(powers),
        whole=place_of("grant_usage"),
        empty="No principal has a grant.",
    )
