"""What changed between two dates."""

from __future__ import annotations

import datetime as dt

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.formats.names import binding_of
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.changed import drift
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.sources.acl_sets import table_of

BINDING = binding_of(
    resource="TOPIC",
    name="orders",
    pattern="LITERAL",
    principal="User:alice",
    host="*",
    does="READ",
    permission="ALLOW",
)


def at(day: int) -> dt.datetime:
    """Return a day."""
    return dt.datetime(2026, 1, day, tzinfo=dt.UTC)


def test_additions_and_removals_in_the_window() -> None:
    """What came and went is told once each, the oldest first, inside of the window only."""
    rows = table_of([BINDING], "change-log").with_columns(
        valid_from=pl.lit(at(2)), valid_to=pl.lit(at(4)), removed_by=pl.lit("User:admin")
    )

    def told(since: int | None) -> pl.DataFrame:
        window = None if since is None else at(since)
        asked = GoldInput(
            engine=Engine(), decisions=(), bindings=rows, policy=Policy(), since=window
        )
        return drift(asked)["drift"]

    assert told(None)["change"].to_list() == ["ADDED", "REMOVED"]
    assert told(2)["change"].to_list() == ["REMOVED"]
    assert told(4)["change"].to_list() == []
    assert told(None)["by"].to_list() == [None, "User:admin"]
