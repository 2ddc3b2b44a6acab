"""All sections as one report, the decisions first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.report.basis import basis_of
from doorkeeper_pipeline.report.changes import changes_of
from doorkeeper_pipeline.report.decisions import decide_of, figures_of, safe_of, standing_of
from doorkeeper_pipeline.report.grants import grants_of, overbroad_of
from doorkeeper_pipeline.report.model import Report
from doorkeeper_pipeline.report.overview import history_of, overview_of
from doorkeeper_pipeline.report.power import power_of
from doorkeeper_pipeline.report.proposals import backtest_of, least_privilege_of
from doorkeeper_pipeline.report.quality import quality_of
from doorkeeper_pipeline.report.refusals import refusals_of

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.findings import Register
    from doorkeeper_pipeline.report.frames import Frames
    from doorkeeper_pipeline.report.model import About


def report_of(frames: Frames, about: About, register: Register | None = None) -> Report:
    """Return the report on some tables; ``decisions`` must be there, all others may be missing.

    ``register`` has what people said of findings, if that is kept.

    Raises:
        KeyError: there is no table of decisions.

    """
    decisions = frames["decisions"]
    history = history_of(decisions)
    standing = standing_of(frames, about, register)
    return Report(
        about=about,
        first_day=None if history.first is None else history.first.date(),
        last_day=None if history.last is None else history.last.date(),
        basis=basis_of(frames, history, about.cluster),
        figures=figures_of(frames, standing),
        sections=(
            decide_of(standing, about),
            safe_of(frames, standing, about),
            changes_of(frames, standing, about),
            overview_of(decisions, history),
            refusals_of(frames, about),
            grants_of(frames, about),
            overbroad_of(frames, about),
            power_of(frames, about),
            least_privilege_of(frames, history, about),
            backtest_of(frames, history, about),
            quality_of(frames, history, about),
        ),
    )
