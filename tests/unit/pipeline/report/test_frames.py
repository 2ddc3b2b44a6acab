"""What the parts of the report ask tables for."""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.report.frames import (
    count_of,
    counts_by,
    first_of,
    names_of,
    permission_of,
    place_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import Names, Resource

FRAME = pl.LazyFrame({"name": ["b", "a", "c"], "size": [1, 2, 2]})


def test_the_first_rows_come_in_order() -> None:
    """Only as many as wanted, ordered by all columns given."""
    rows = first_of(FRAME, [pl.col("size") * -1, "name"], 2)

    assert [row["name"] for row in rows] == ["a", "c"]


def test_rows_are_counted() -> None:
    """All of them, and by the values of a column."""
    assert count_of(FRAME) == 3
    assert counts_by(FRAME, "size") == {"1": 1, "2": 2}


def test_tables_are_where_the_run_put_them() -> None:
    """The folder of a table is that of its layer."""
    assert place_of("denied") == "gold/denied"
    assert place_of("quarantine") == "bronze/quarantine"


def test_values_of_rows() -> None:
    """Resources have a pattern type where the row has one; the first names know of how many."""
    row = {"resource_type": "TOPIC", "resource_name": "a", "permission_type": "DENY"}

    assert resource_of(row) == Resource("TOPIC", "a")
    assert resource_of(row | {"pattern_type": "PREFIXED"}).pattern_type == "PREFIXED"
    assert permission_of(row).strong
    assert not permission_of({"permission_type": "ALLOW"}).strong
    assert names_of(["a", "b"], 7) == Names(("a", "b"), 7)
    assert names_of(["a", "b"]).total == 2
