"""The first page: what changed, what to decide, and what is safe to do."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from msgspec import structs

from doorkeeper_pipeline.jobs.causes import LeftOut
from doorkeeper_pipeline.report.findings import Finding, Register
from doorkeeper_pipeline.report.model import UNKNOWN, About, Report, Section, Statement
from doorkeeper_pipeline.report.writing import report_of
from testkit.report_tables import table_of

LAST = dt.datetime(2026, 11, 28, 2, 30, tzinfo=dt.UTC)
BEFORE, MONTH_AGO = LAST - dt.timedelta(days=1), LAST - dt.timedelta(days=30)
ABOUT = About(made=LAST)


def finding(name: str, action: str = "SAFE", cause: str = "unused", **changed: Any) -> Any:
    """Return a row of the table findings."""
    row: dict[str, Any] = {
        "finding_id": name,
        "action": action,
        "cause": cause,
        "principal": "User:a",
    }
    row |= {"severity": "LOW", "subject": f"READ on TOPIC {name}", "grants": 14}
    return {**row, "first_seen": MONTH_AGO, **changed}


def report(
    *rows: dict[str, Any],
    runs: tuple[dt.datetime, ...] = (MONTH_AGO, BEFORE, LAST),
    about: About = ABOUT,
    register: Register | None = None,
    **tables: list[dict[str, Any]],
) -> Report:
    """Return the report on some rows of findings."""
    tables = {"decisions": [], "grant_usage": [], "unused_grants": [], **tables}
    tables |= {"findings": list(rows)}
    tables |= {"runs": [{"command": "run", "started": at, "finished": at} for at in runs]}
    frames = {name: table_of(name, each) for name, each in tables.items()}
    return report_of(frames, about, register)


def section(page: Report, name: str) -> Section:
    """Return a section by its id."""
    return next(each for each in page.sections if each.id == name)


def test_key_figures_have_trends() -> None:
    page = report(
        finding("old"),
        finding("new", first_seen=LAST),
        finding("gone", gone=LAST),
        finding("left", gone=BEFORE),
        finding("asked", "DECIDE", "renamed", severity="HIGH", first_seen=BEFORE),
        drift=[{"change": "ADDED", "at": LAST, "permission_type": "ALLOW"}],
        new_access=[{"kind": "PRINCIPAL", "first_ts": LAST}],
    )

    assert [(each.number, each.what, each.remark) for each in page.figures] == [
        (
            *("1", "new finding since 27 Nov 2026"),
            "1 finding gone; 1 ACL added, 0 removed; 1 new principal",
        ),
        ("1", "to decide", "1 group; 1 high; as many as on 27 Nov 2026; +1 since 29 Oct 2026"),
        (
            *("2", "grants to remove"),
            (
                "of 1 principal; no decision needs them; as many as on 27 Nov 2026;"
                " -1 since 29 Oct 2026"
            ),
        ),
    ]


def test_first_run_has_no_comparison() -> None:
    page = report(finding("one", first_seen=LAST), runs=(LAST,))

    assert (page.figures[0].number, page.figures[2].remark) == (
        UNKNOWN,
        "of 1 principal; no decision needs them",
    )
    assert all(table.id != "findings-changed" for table in section(page, "changes").tables)


def test_insufficient_evidence_is_not_zero() -> None:
    """Grants that are held back have the number of them, not "0 to remove"."""
    usage = [{"verdict": "NOT_ENOUGH_EVIDENCE"}, {"verdict": "KEEP"}]

    figure = report(grant_usage=usage).figures[2]

    assert (figure.number, figure.remark) == (UNKNOWN, "not enough evidence about 1 grant")


def test_findings_are_grouped() -> None:
    page = report(
        finding("a", severity="HIGH"),
        finding("b"),
        finding("q", "DECIDE", "renamed", why="are both the same?", first_seen=LAST),
    )

    (safe,) = section(page, "safe").tables
    (decide,) = section(page, "decide").tables
    subjects = ("READ on TOPIC a", "READ on TOPIC b")
    assert safe.rows[0][1:3] == ("User:a", Statement("2 of 14 grants unused", subjects))
    assert [each.title for each in decide.columns][3:] == ["What to do", "State", "First reported"]
    what_to_do, state, since = decide.rows[0][3:]
    assert (what_to_do, since) == (Statement("are both the same?"), LAST)
    assert state in decide.words


def test_owners_and_acceptances_are_shown() -> None:
    day = dt.date(2026, 11, 1)
    said = Finding(kind="k", text="t", first_seen=day, owner="team", accepted_until=day)
    register = Register({"over": said, "agreed": structs.replace(said, accepted_until=LAST.date())})
    left_out = LeftOut(("User:tool",), dict.fromkeys(("agreed", "resolved"), LAST.date()))

    page = report(
        finding("over"),
        finding("agreed"),
        finding("resolved", gone=BEFORE),
        finding("tool", principal="User:tool"),
        about=dataclasses.replace(ABOUT, left_out=left_out),
        register=register,
    )

    (safe,) = section(page, "safe").tables
    (row,) = safe.rows
    assert dict(zip((each.title for each in safe.columns), row, strict=True))["Owner"] == "team"
    assert [each.word for each in safe.words] == ["acceptance expired"]
    assert section(page, "decide").lead[-1] == "1 finding accepted until a day is left out."


def test_new_and_resolved_findings() -> None:
    page = report(finding("old"), finding("new", first_seen=LAST), finding("gone", gone=LAST))

    changes = section(page, "changes")
    table = next(each for each in changes.tables if each.id == "findings-changed")
    assert changes.lead[0].endswith(": 1 new finding, 1 gone.")
    assert [(row[0], row[3]) for row in table.rows] == [
        (table.words[0], Statement("1 of 14 grants unused", ("READ on TOPIC new",))),
        (table.words[1], Statement("1 of 14 grants unused", ("READ on TOPIC gone",))),
    ]
