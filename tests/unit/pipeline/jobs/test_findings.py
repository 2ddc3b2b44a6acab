"""What the summary of a run names."""

from typing import Any

from doorkeeper_pipeline.jobs.findings import SUMMARIZED, findings_of
from doorkeeper_pipeline.tables import contents
from testkit.report_tables import table_of

EMPTY = {name: contents.empty(name) for name in SUMMARIZED}


def test_refusals_are_grouped_by_their_cause() -> None:
    """One DENY explains most of them; a probe refuses nothing."""
    denied: list[dict[str, Any]] = [
        {"principal": "User:a", "count": 60, "reason": "DENY", "denied_by": "one"},
        {"principal": "User:b", "count": 21, "reason": "DENY", "denied_by": "one"},
        {"principal": "User:c", "count": 19, "reason": "NO_ACL"},
        {"principal": "User:d", "count": 99, "reason": "NO_ACL", "probe": True},
    ]

    found = findings_of({**EMPTY, "denied": table_of("denied", denied).collect()})

    assert found == (
        "refused: 100",
        "  81% by one DENY: one",
        "  19% because User:c has no ALLOW for it",
    )
