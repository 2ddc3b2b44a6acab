"""Contracts as data."""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.rules import ERROR, KEYS, RULES, WARNING


def test_every_table_has_rules_and_a_key() -> None:
    """Rules and keys speak of tables that there are, and of their columns."""
    ours = {name for name, table in TABLES.items() if table.layer != "source"}

    assert set(RULES) == set(KEYS) == ours
    assert all(set(KEYS[name]) <= set(TABLES[name].names) for name in ours)


def test_predicates_can_be_asked() -> None:
    """Each predicate is SQL over the columns of its table, and says yes or no."""
    for name, rules in RULES.items():
        for rule in rules:
            asked = contents.empty(name).select(pl.sql_expr(rule.predicate).alias("holds"))
            assert asked.schema["holds"] == pl.Boolean, (name, rule)
            assert rule.severity in {ERROR, WARNING}
