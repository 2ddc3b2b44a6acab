"""All sections as one report, and the five numbers that matter at its top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper.acls.model import WILDCARD, WILDCARD_PRINCIPAL
from doorkeeper_pipeline.report.amounts import amount, number, percent, short
from doorkeeper_pipeline.report.basis import basis_of
from doorkeeper_pipeline.report.changes import changes_of, new_principals_of
from doorkeeper_pipeline.report.frames import Frames, count_of
from doorkeeper_pipeline.report.grants import overbroad_of, removable_of, unused_section
from doorkeeper_pipeline.report.model import Figure, Report
from doorkeeper_pipeline.report.overview import History, history_of, overview_of, time_of
from doorkeeper_pipeline.report.power import power_of
from doorkeeper_pipeline.report.proposals import backtest_of, least_privilege_of
from doorkeeper_pipeline.report.quality import quality_of
from doorkeeper_pipeline.report.refusals import refusals_of

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import About, Section

UNKNOWN = "\u2013"
"""The text in place of a number that was not computed."""


def report_of(frames: Frames, about: About, findings: tuple[Section, ...] = ()) -> Report:
    """Return the report on some tables; ``decisions`` must be there, all others may be missing.

    ``findings`` is the section about the findings of several reports, if they are kept.

    Raises:
        KeyError: there is no table of decisions.

    """
    decisions = frames["decisions"]
    history = history_of(decisions)
    excluded = about.left_out.principals
    counted = history
    if excluded:
        counted = history_of(decisions.filter(~pl.col("principal").is_in(excluded)))
    return Report(
        about=about,
        first_day=None if history.first is None else history.first.date(),
        last_day=None if history.last is None else history.last.date(),
        basis=basis_of(frames, history),
        figures=figures_of(frames, history, counted),
        sections=(
            overview_of(decisions, history),
            *findings,
            refusals_of(frames, about),
            power_of(frames, about),
            unused_section(frames, about),
            overbroad_of(frames, about),
            least_privilege_of(frames, history, about),
            backtest_of(frames, history, about),
            changes_of(frames, about),
            quality_of(frames, history, about),
        ),
    )


def figures_of(frames: Frames, history: History, counted: History) -> tuple[Figure, ...]:
    """Return the five numbers at the top; ``counted`` is without what is left out of shares."""
    without = "" if counted is history else ", without principals that are left out"
    return (
        _figure(
            history.decisions,
            "decisions",
            f"by {amount(history.principals, 'principal')} {time_of(history)}",
            "overview",
        ),
        _figure(
            counted.refused,
            "refused",
            f"{percent(counted.refused, counted.decisions)} of all decisions{without}",
            "refused",
        ),
        _removable(frames),
        _too_wide(frames),
        _new(frames, history),
    )


def _figure(count: int, what: str, remark: str, section: str) -> Figure:
    return Figure(short(count), number(count), what, remark, section)


def _removable(frames: Frames) -> Figure:
    unused, usage = frames.get("unused_grants"), frames.get("grant_usage")
    if unused is None or usage is None:
        return Figure(UNKNOWN, "", "grants to remove", "no set of ACLs was given", "unused")
    count, grants = removable_of(unused), count_of(usage)
    held = count_of(unused.filter(pl.col("proposal").is_in(["ASK", "NOT_ENOUGH_EVIDENCE"])))
    if held and not count:
        remark = f"not enough evidence about {amount(held, 'unused grant')}"
        return Figure(UNKNOWN, "", "grants to remove", remark, "unused")
    remark = f"{percent(count, grants)} of {amount(grants, 'grant')}; no decision needs them"
    word = "grant to remove" if count == 1 else "grants to remove"
    return _figure(count, word, remark, "unused")


def _too_wide(frames: Frames) -> Figure:
    wide, usage = frames.get("overbroad_grants"), frames.get("grant_usage")
    word = "grants wider than their use"
    if wide is None or usage is None:
        return Figure(UNKNOWN, "", word, "no set of ACLs was given", "overbroad")
    # Grants that were never used are not among them, however wide: they are unused.
    all_names = (pl.col("resource_name") == WILDCARD) & (pl.col("pattern_type") == "LITERAL")
    all_principals = pl.col("principal") == WILDCARD_PRINCIPAL
    broad = usage.filter(pl.col("permission_type") == "ALLOW", all_names | all_principals)
    remark = f"{number(count_of(broad))} in force for all names or principals"
    return _figure(count_of(wide), word, remark, "overbroad")


def _new(frames: Frames, history: History) -> Figure:
    # In a history of one day all are seen for the first time.
    count = new_principals_of(frames) if history.days > 1 else None
    if not count:
        remark = "nothing earlier is known" if count is None else "on the last day"
        return Figure(UNKNOWN if count is None else "0", "", "new principals", remark, "changes")
    word = "new principal" if count == 1 else "new principals"
    return _figure(count, word, "first seen on the last day", "changes")
