"""An audit log that says that it lacks events, or whose numbers do, is not enough evidence."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.tables import delta
from testkit import trail_files
from testkit.pipeline_runs import NOON, Output

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.jobs.request import RunSummary

ACLS = (
    "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
    "User:app,TOPIC,LITERAL,events,READ,ALLOW,*\nUser:svc,TOPIC,LITERAL,orders,READ,ALLOW,*\n"
)
DAYS = 20
BEGIN = NOON - dt.timedelta(days=DAYS)


def event(day: int, seq: int, node: int = 1, **changed: object) -> str:
    """Return a read of app's on a day, as a line."""
    at_ns = int((BEGIN + dt.timedelta(days=day)).timestamp()) * 1_000_000_000
    times = {"ts_ns": at_ns, "first_ns": at_ns, "last_ns": at_ns}
    asked = {"principal": "User:app", "resource_name": "events", "outcome": "ALLOWED", "rule": None}
    numbers = {"seq": seq, "node": node}
    return json.dumps(trail_files.event(seq) | times | asked | numbers | changed) + "\n"


class Site(Output):
    """The audit logs of nodes."""

    def __init__(self, folder: Path, *events: list[str]) -> None:
        """Write a file of each list of events."""
        self.folder = folder / "audit"
        self.folder.mkdir()
        self.listing = folder / "acls.csv"
        self.listing.write_text(ACLS)
        super().__init__(folder / "out", str(self.folder))
        for number, lines in enumerate(events):
            (self.folder / f"{number}.jsonl").write_text("".join(lines))

    def advice(self, brokers: int = 0) -> tuple[RunSummary, str]:
        """Return the summary of a run, and the verdict about the grant that is unused."""
        limits = DEFAULT_THRESHOLDS._replace(days=0, start_days=0, brokers=brokers)
        summary = self.run(acls=(f"{self.listing}@{BEGIN:%Y-%m-%d}",), thresholds=limits)
        (row,) = delta.Tables(self.out).read("unused_grants").to_dicts()
        assert row["principal"] == "User:svc"
        return summary, row["proposal"]


def daily(node: int = 1, days: int = DAYS) -> list[str]:
    """Return the events of a node, three a day."""
    return [event(number // 3, number + 1, node) for number in range(3 * days)]


@pytest.mark.parametrize("kind", ["dropped", "gap", "missing file"])
@pytest.mark.parametrize(("lossy", "verdict"), [(2, "REMOVE"), (3, "NOT_ENOUGH_EVIDENCE")])
def test_days_with_lost_events_are_not_covered(
    tmp_path: Path, kind: str, lossy: int, verdict: str
) -> None:
    """They are held against the advice in each run, and in proposals."""
    lines = daily()
    middles = [3 * day + 1 for day in range(5, 5 + lossy)]
    if kind == "dropped":
        for number in middles:
            lines[number] = event(number // 3, number + 1, kind="dropped", count=500)
    if kind == "gap":
        lines = [line for number, line in enumerate(lines) if number not in middles]
    if kind == "missing file":
        site = Site(tmp_path, lines[: middles[0]], lines[middles[-1] :])
    else:
        site = Site(tmp_path, lines)

    for _ in range(2):
        summary, found = site.advice()
        assert found == verdict
        (told,) = [each for each in summary.run["warnings"] if each.startswith("lines are miss")]
        assert told.count("2026-11-") == lossy
        assert len(summary.evidence.observed.missing_days) == lossy
    usual = ["propose", "--tables", str(site.out), "--engine", "local", "--quiet"]
    proposed = CliRunner().invoke(pipeline, usual)
    refused = verdict == "NOT_ENOUGH_EVIDENCE"
    assert ("85% of the days" in str(proposed.exception)) == refused
    assert ("lines are missing" in proposed.output) != refused


def test_brokers_counts_nodes(tmp_path: Path) -> None:
    site = Site(tmp_path, daily(), daily(node=2))

    summary, found = site.advice(brokers=2)

    assert found == "REMOVE"
    assert "in 2 logs" in summary.evidence.summary()
    summary, found = site.advice(brokers=3)
    assert found == "NOT_ENOUGH_EVIDENCE"
    assert summary.evidence.lacking[0].startswith("found 2 logs; required: one for each of 3")


def test_node_whose_log_ends_early(tmp_path: Path) -> None:
    summary, found = Site(tmp_path, daily(), daily(node=2, days=10)).advice()

    assert found == "NOT_ENOUGH_EVIDENCE"
    (lacking,) = summary.evidence.lacking
    assert lacking.startswith("node 2 has allowed decisions on 10 of 20 days")


def test_brokers_that_cannot_be_counted(tmp_path: Path) -> None:
    """Events without a number do not say whose they are."""
    site = Site(tmp_path, [event(day, 0) for day in range(DAYS)])

    assert site.advice()[1] == "REMOVE"
    summary, found = site.advice(brokers=3)

    assert found == "NOT_ENOUGH_EVIDENCE"
    assert summary.evidence.lacking[0].startswith("--brokers 3 cannot be checked")
