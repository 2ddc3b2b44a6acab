"""The engine without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from doorkeeper_pipeline.engines.contract import DISTINCT
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.engines.tuples import COUNTS
from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources.json_lines import Decided, _frame

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable

SCHEMA = pa.schema([("principal", pa.string()), ("count", pa.int64())])


def picked(shared: dict[str, int], table: DecisionTable) -> pa.Table:
    """Return who asked, and how often, so many times."""
    assert table.rows.column_names == [*DISTINCT, *COUNTS]
    counts = [count * shared["times"] for count in table.rows["count"].to_pylist()]
    return pa.table({"principal": table.rows["principal"], "count": counts})


def test_distinct_decisions(tmp_path: Path) -> None:
    """The function sees each distinct decision once, with counts summed over files."""
    row = Decided(
        "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 2, 60_000_000, 60_000_000
    )
    later = row._replace(first_us=180_000_000, last_us=180_000_000)
    for name, rows in (("a", [row]), ("b", [later, row._replace(principal="User:b")])):
        _frame(rows, "trail").write_parquet(tmp_path / name)
    files = [str(tmp_path / name) for name in ("a", "b")]

    found = LocalEngine().over_tuples(files, picked, {"times": 3}, SCHEMA)

    assert sorted(found.to_pylist(), key=lambda each: str(each["principal"])) == [
        {"principal": "User:a", "count": 12},
        {"principal": "User:b", "count": 6},
    ]


def test_addresses_are_for_spark() -> None:
    """The engine has no file systems but this machine's."""
    assert LocalEngine().list_remote([]) == []
    with pytest.raises(Unreadable, match=r"s3a://b/x: .* add --engine spark"):
        LocalEngine().list_remote(["s3a://b/x"])
