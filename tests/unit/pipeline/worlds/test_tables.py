"""The table of decisions of a world."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from doorkeeper_pipeline.schemas import DECISIONS, arrow_schema
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.tables import decisions_of
from doorkeeper_pipeline.worlds.traffic import World, events, world_of
from doorkeeper_pipeline.worlds.writing import BEGIN_MS

ASKED = ("principal", "host", "operation", "resource_type", "resource_name", "api")


@cache
def small() -> World:
    return world_of(SMALL)


def test_rows_are_the_events_of_a_minute() -> None:
    """Each row stands for the events of one question and minute; together they are all events."""
    questions = small().questions.to_pylist()
    expected: Counter[Any] = Counter()
    for part in events(small(), 5_000, begin_ms=BEGIN_MS, days=1):
        for row, at_ms in zip(part.rows.tolist(), part.at_ms.tolist(), strict=True):
            expected[(*(questions[row][name] for name in ASKED), at_ms // 60_000)] += 1

    table = decisions_of(small(), 5_000, days=1)

    found: Counter[Any] = Counter()
    for each in table.to_pylist():
        minute = int(each["minute"].timestamp()) // 60
        found[(*(each[name] for name in ASKED), minute)] += each["count"]
        assert each["first_ts"] <= each["last_ts"]
        assert int(each["first_ts"].timestamp()) // 60 == minute
        assert each["day"] == each["minute"].date()
    assert found == expected


def test_the_columns_are_those_of_the_schema() -> None:
    """The table has the declared columns, no null, and the rules of the answers."""
    table = decisions_of(small(), 2_000)

    assert table.schema.equals(arrow_schema(DECISIONS))
    assert all(column.null_count == 0 for column in table.columns)
    for each in table.to_pylist():
        assert (each["rule"] == "MatchingAcl") is bool(each["rule_binding"])
        if each["rule"] == "MatchingAcl":
            denies = each["rule_binding"].endswith("permissionType=DENY")
            assert each["rule_binding"].startswith("resourceType=")
            assert each["outcome"] == ("DENIED" if denies else "ALLOWED")
