"""What is new."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.changed import new_access
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

DAY_US = 86_400_000_000
SINCE = dt.datetime(1970, 1, 3, tzinfo=dt.UTC)


def seen(day: int, principal: str, host: str, name: str, outcome: str = "ALLOWED") -> Decided:
    """Return a decision of a day."""
    at = day * DAY_US + 1
    return Decided(principal, host, "READ", "TOPIC", name, outcome, "", "", "", False, 2, at, at)


def test_first_seen_in_the_window(tmp_path: Path) -> None:
    """New principals, and new hosts and resources of principals that are known."""
    rows = [
        seen(1, "User:old", "h1", "t1"),
        seen(2, "User:old", "h1", "t1"),
        seen(2, "User:old", "h2", "t1"),
        seen(2, "User:old", "h1", "t2", "DENIED"),
        seen(2, "User:new", "h9", "t9"),
    ]

    table = tmp_path / "decisions.parquet"
    _frame(rows, "trail").write_parquet(table)
    asked = GoldInput(
        engine=Engine(),
        decisions=(str(table),),
        bindings=contents.empty("bindings").to_arrow(),
        policy=Policy(),
        since=SINCE,
    )

    found = contents.as_frame("new_access", new_access(asked)["new_access"])

    names = ["kind", "principal", "host", "resource_name", "count", "denied"]
    assert found.select(names).rows() == [
        ("HOST", "User:old", "h2", "", 2, 0),
        ("PRINCIPAL", "User:new", "", "", 2, 0),
        ("RESOURCE", "User:old", "", "t2", 2, 2),
    ]
