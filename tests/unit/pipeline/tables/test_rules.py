"""Contracts as data."""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents


def test_every_table_has_a_key_or_allows_duplicates() -> None:
    assert [name for name, table in TABLES.items() if not table.key] == [
        "distinct_decisions",
        "lines",
    ]
    assert all(set(table.key) <= set(table.names) for table in TABLES.values())


def test_rules_are_valid_sql() -> None:
    assert sum(len(table.rules) for table in TABLES.values()) > 30
    for name, table in TABLES.items():
        for rule in table.rules:
            asked = contents.empty(name).select(pl.sql_expr(rule.holds).alias("holds"))
            assert asked.schema["holds"] == pl.Boolean, (name, rule)
            assert rule.severity in {"error", "warning"}
