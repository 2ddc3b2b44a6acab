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


def test_distinct_decisions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that ask for the same columns get the same table, until others need the room."""
    row = Decided("User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 1, 0, 0)
    _frame([row], "trail").write_parquet(tmp_path / "a")
    files = [str(tmp_path / "a")]
    given: list[DecisionTable] = []

    def kept(_: None, table: DecisionTable) -> pa.Table:
        given.append(table)
        return SCHEMA.empty_table()

    def ask(engine: LocalEngine, *columns: str) -> None:
        for column in columns:
            engine.over_tuples(files, kept, None, SCHEMA, (column,))

    ask(LocalEngine(), "principal", "host", "principal")
    monkeypatch.setattr("doorkeeper_pipeline.engines.local.KEPT_BYTES", 1)
    ask(LocalEngine(), "principal", "principal")

    assert given[0] is given[2]
    assert given[3] is not given[4]
    assert given[3].rows == given[4].rows
