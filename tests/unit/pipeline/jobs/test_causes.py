"""The table findings, from run to run."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from doorkeeper_pipeline.jobs.causes import KEPT, follow, search
from doorkeeper_pipeline.tables import contents
from testkit.report_tables import table_of

FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
SECOND, THIRD = FIRST + dt.timedelta(days=1), FIRST + dt.timedelta(days=2)


def grant(verdict: str, rule: str = "unneeded", **changed: Any) -> dict[str, Any]:
    """Return a row of grant_usage."""
    name = f"{verdict} {rule} {changed}"
    row = {"binding_id": name, "principal": "User:a", "permission_type": "ALLOW"}
    row |= {"operation": "READ", "resource_type": "TOPIC", "resource_name": "t", "host": "*"}
    return row | {"verdict": verdict, "rule": rule, "severity": "LOW", **changed}


def found_in(grants: list[dict[str, Any]], **others: list[dict[str, Any]]) -> Any:
    """Return what some rows of grant_usage show, with rows of the other tables."""
    rows = {"overbroad_grants": [], "denied": [], **others, "grant_usage": grants}
    return search({name: table_of(name, each).collect() for name, each in rows.items()})


@pytest.mark.parametrize(
    ("row", "cause", "action"),
    [
        (grant("REMOVE"), "unused", "SAFE"),
        (grant("REMOVE", severity="HIGH"), "unused", "SAFE"),
        (grant("REMOVE", "dormant"), "dormant", "SAFE"),
        (grant("ASK", "unknown-age"), "unknown-age", "DECIDE"),
        (grant("ASK", "host"), "host", "DECIDE"),
        (grant("ASK", "host", permission_type="DENY"), "host", "DECIDE"),
        (grant("ASK", "renamed", severity="HIGH"), "renamed", "DECIDE"),
        (grant("KEEP", "used", severity="CRITICAL"), "broad", "DECIDE"),
        (grant("NOT_ENOUGH_EVIDENCE", "age", severity="HIGH"), "broad", "DECIDE"),
        (grant("KEEP", "used", binding_id="wide"), "wide", "DECIDE"),
        (grant("KEEP", "used", binding_id="generated"), None, None),
        (grant("KEEP", "used", severity="HIGH", permission_type="DENY"), None, None),
        (grant("NOT_ENOUGH_EVIDENCE", "age"), None, None),
    ],
)
def test_each_grant_has_one_cause(
    row: dict[str, Any], cause: str | None, action: str | None
) -> None:
    wide: list[dict[str, Any]] = [
        {"binding_id": "wide", "proposal": ["narrower"]},
        {"binding_id": "generated"},
    ]
    rows = found_in([row], overbroad_grants=wide).rows.to_dicts()

    assert [(each["cause"], each["action"]) for each in rows] == (
        [] if cause is None else [(cause, action)]
    )


def test_denials_are_one_finding_per_principal_and_cause() -> None:
    row: dict[str, Any] = {"principal": "User:a", "cause": "MISSING_GRANT", "operation": "READ"}
    row |= {"resource_type": "TOPIC"}
    denied: list[dict[str, Any]] = [
        {**row, "resource_name": "few", "count": 1},
        {**row, "resource_name": "many", "count": 9},
        {**row, "cause": "PROBING", "rhythm": "80 names at once", "count": 99},
        *({**row, "cause": cause} for cause in ("ASKED_ONLY", "DENY", "ALLOWED_NOW")),
    ]

    few, probing = found_in([], denied=denied).rows.sort("decisions").to_dicts()

    assert (few["finding_id"], few["cause"]) == ("refused:MISSING_GRANT:User:a", "missing-grant")
    assert (few["subject"], few["decisions"], few["severity"]) == ("READ on TOPIC many", 10, "LOW")
    assert (probing["cause"], probing["severity"]) == ("probing", "MEDIUM")
    assert probing["why"] == "80 names at once"


def test_finding_keeps_its_first_time() -> None:
    nothing = found_in([])
    one = found_in([grant("REMOVE")])
    empty = contents.empty("findings")

    there = follow(empty, one, FIRST)
    gone = follow(there, nothing, SECOND)
    back = follow(gone, one, THIRD)

    assert there.select("first_seen", "gone").rows() == [(FIRST, None)]
    assert gone.select("first_seen", "gone").rows() == [(FIRST, SECOND)]
    assert back.select("first_seen", "gone").rows() == [(FIRST, None)]
    assert follow(gone, nothing, SECOND + KEPT - dt.timedelta(days=1)).equals(gone)
    assert follow(gone, nothing, SECOND + KEPT).is_empty()


def test_insufficient_evidence_keeps_findings() -> None:
    held = found_in([grant("NOT_ENOUGH_EVIDENCE", "age", binding_id="x")])
    known = follow(contents.empty("findings"), found_in([grant("REMOVE", binding_id="x")]), FIRST)

    wide: list[dict[str, Any]] = [{"binding_id": "x", "proposal": ["narrower"]}]
    kept = grant("KEEP", "used", binding_id="x")
    too_wide = follow(contents.empty("findings"), found_in([kept], overbroad_grants=wide), FIRST)

    assert not too_wide.is_empty()
    for now in (kept, grant("NOT_ENOUGH_EVIDENCE", "period", binding_id="x")):
        doubted = found_in([now], overbroad_grants=[{"binding_id": "x"}])
        assert follow(too_wide, doubted, SECOND).equals(too_wide)
    assert follow(contents.empty("findings"), held, FIRST).is_empty()
    assert follow(known, held, SECOND).equals(known)
