"""The JSON that commands print with ``--output json``.

Members have the names of columns of the tables. A time is a text such as 2026-11-26 16:01:36+00:00.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypedDict

from doorkeeper.acls.formats.records import AclRecord
from doorkeeper_pipeline.cli.failures import show


class Evidence(TypedDict):
    """What the history can prove; lacking says why it is not enough to remove grants."""

    decisions: int
    first: str | None
    last: str | None
    days: float
    coverage_percent: float
    agreement_percent: float | None
    causes: list[str]
    lacking: list[str]
    doubtful_principals: list[str]


class FindingGroup(TypedDict):
    """Findings of one principal and cause."""

    action: str
    severity: str
    cause: str
    principal: str
    principals: int
    size: int
    new: int
    first_seen: str
    why: str
    text: str
    advice: str
    subjects: list[str]
    ids: list[str]


class Unread(TypedDict):
    """Lines that could not be understood."""

    reason: str
    count: int


class Run(TypedDict):
    """The result of run: its row in the table runs, the rows of each table, and the evidence.

    With --follow there is such an object for each further run that found something new.
    """

    run: dict[str, Any]
    rows: dict[str, int]
    gone: list[str]
    evidence: Evidence
    findings: list[FindingGroup]
    unread: list[Unread]


class Backtest(TypedDict):
    """The numbers of decisions that would change; decisions are all rows of the table backtest.

    risks are why accesses may be lost that are not among them.
    """

    newly_denied: int
    newly_allowed: int
    allowed: int
    risks: list[str]
    decisions: list[dict[str, Any]]


class Proposed(TypedDict):
    """A proposal: the ACLs that it adds and removes, and what it would change of the history.

    wider are regions that the ACLs in force do not allow, risks why accesses may be lost.
    """

    acls: int
    added: list[AclRecord]
    removed: list[AclRecord]
    newly_denied: int
    newly_allowed: int
    wider: list[str]
    risks: list[str]


class HistoryExamples(TypedDict):
    """Rows of the history of one kind."""

    title: str
    rows: list[dict[str, Any]]


class ExplainedGrant(TypedDict):
    """A grant and its verdict. Further members are the columns of the table grant_usage."""

    grant: str
    given: bool
    covered_by: list[str]
    unread: bool
    nameless_lines: int
    examples: list[HistoryExamples]


class ExplainedGrants(TypedDict):
    """The answer of why."""

    explanations: list[ExplainedGrant]


class Figure(TypedDict):
    """A number of the report."""

    what: str
    number: str
    remark: str


class Events(TypedDict):
    """The file of events, and their numbers."""

    file: str
    decisions: int
    changes: int


class Report(TypedDict):
    """The report and the events that were written; null for a file that was not asked for."""

    report: str | None
    figures: list[Figure]
    events: Events | None


def show_record(record: Mapping[str, Any]) -> None:
    show(json.dumps(record, default=str, indent=2))
