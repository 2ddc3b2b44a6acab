"""Principals that may do much: administrators, broad grants, dormant principals, unused access."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from doorkeeper_pipeline.evaluation.severity import BROAD
from doorkeeper_pipeline.report.amounts import amount
from doorkeeper_pipeline.report.frames import (
    Frames,
    Row,
    names_of,
    place_of,
    resource_of,
    severity_of,
)
from doorkeeper_pipeline.report.grants import NO_ACLS
from doorkeeper_pipeline.report.model import Column, Kind, Section, Share, Table, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper_pipeline.report.model import About

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
    """Return the section about principals with much access."""
    usage = frames.get("grant_usage")
    section_id, word, title = "power", "Power", "Principals with much access"
    if usage is None:
        return Section(id=section_id, word=word, title=title, missing=NO_ACLS)
    allows = _allows(frames)
    broad = broad_grants_in(frames)
    supers = super_users_in(frames)
    powers = powers_of(allows, frames["decisions"])
    dormant = dormant_in(frames)
    admins = {
        row["principal"]
        for row in broad
        if (row["severity"], row["resource_type"]) == (BROAD[0], "CLUSTER")
    }
    may = amount(len(admins), "principal") if admins else "No principal"
    did = amount(len(supers), "super user") if supers else "no super user"
    administrators = f"{may} may change ACLs by a grant, and {did} made requests in this time."
    idle = (
        f"{amount(len(dormant), 'principal')} with grants made none."
        if dormant
        else "Each principal with grants made some."
    )
    return Section(
        id=section_id,
        word=word,
        title=title,
        lead=(administrators, idle),
        tables=(
            _broad_table(broad, about),
            _powers_table(powers, about),
            _dormant_table(dormant, allows, about),
            _supers_table(supers, about),
        ),
    )


def broad_grants_in(frames: Frames) -> list[Row]:
    """Return the grants that open most, by severity."""
    broad = [row for row in _allows(frames) if row["severity"] in BROAD]
    return sorted(
        broad,
        key=lambda row: (BROAD.index(row["severity"]), row["principal"], row["binding_id"]),
    )


def dormant_in(frames: Frames) -> list[str]:
    """Return principals with grants and without a request, sorted."""
    seen = set(frames["decisions"].select(pl.col("principal").unique()).collect()["principal"])
    return sorted({row["principal"] for row in _allows(frames)} - seen - {EVERYONE})


def _allows(frames: Frames) -> list[Row]:
    usage = frames.get("grant_usage")
    if usage is None:
        return []
    return usage.filter(pl.col("permission_type") == "ALLOW").collect().to_dicts()


def super_users_in(frames: Frames) -> list[tuple[str, int]]:
    """Return principals that decisions name as super users, with the number of decisions."""
    found = (
        frames["decisions"]
        .filter(pl.col("rule") == "SuperUser")
        .group_by("principal")
        .agg(pl.col("count").sum())
        .sort("principal")
        .collect()
    )
    return [(name, int(count)) for name, count in found.iter_rows()]


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


def _broad_table(broad: list[Row], about: About) -> Table:
    return Table(
        id="broad-grants",
        title="Grants that open most",
        columns=(
            Column(title="Severity", kind=Kind.TAG, choice=True),
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Operation", kind=Kind.TEXT, choice=True),
            Column(title="Resource", kind=Kind.RESOURCE),
            Column(title="Host", kind=Kind.HOST),
            Column(title="Opens", kind=Kind.TEXT, choice=True),
            Column(title="Uses", kind=Kind.NUMBER),
            Column(title="Used by", kind=Kind.NAMES),
            Column(title="Last used", kind=Kind.TIME),
        ),
        rows=tuple(
            (
                *(severity_of(row), row["principal"], row["operation"], resource_of(row)),
                *(row["host"], row["opens"], row["uses"]),
                names_of(row["principals"], row["principal_count"]),
                row["last_used"],
            )
            for row in broad[: about.rows_max]
        ),
        total=len(broad),
        whole=place_of("grant_usage"),
        empty="There is none.",
    )


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
        title="What each principal may use, and does",
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


def _dormant_table(dormant: list[str], allows: list[Row], about: About) -> Table:
    grants: dict[str, int] = defaultdict(int)
    for row in allows:
        grants[row["principal"]] += 1
    return Table(
        id="dormant",
        title="Dormant principals",
        note="They have grants, and made no request in this time.",
        columns=(
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Grants", kind=Kind.NUMBER),
        ),
        rows=tuple((name, grants[name]) for name in dormant[: about.rows_max]),
        total=len(dormant),
        whole=place_of("grant_usage"),
        empty="Each principal with a grant made a request.",
    )


def _supers_table(supers: list[tuple[str, int]], about: About) -> Table:
    return Table(
        id="super-users",
        title="Super users that made requests",
        note="Each rule of the log that names a super user. Super users that did nothing are not"
        " known here.",
        columns=(
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Decisions", kind=Kind.NUMBER),
        ),
        rows=tuple(supers[: about.rows_max]),
        total=len(supers),
        whole=place_of("decisions"),
        empty="No decision names a super user.",
    )
