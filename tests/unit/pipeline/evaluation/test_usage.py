"""Sums over questions: how often each binding was used, by whom, from where, for what."""

from datetime import UTC, datetime

import polars as pl
import pytest

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.evaluation import decision_table
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX, parts_of, sum_uses
from testkit.acl import DESCRIBE, PREFIXED, READ, allow, deny, topic
from testkit.asked import asked_table

TOPIC = ResourceType.TOPIC
BINDINGS = [
    allow("*", READ, topic("ord", PREFIXED)),
    allow("a", READ, topic("orders")),
    deny("b", READ, topic("orders")),
    allow("c", READ, topic("bills")),
]
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, TOPIC, "orders"),
    Question("User:a", "10.0.0.2", DESCRIBE, TOPIC, "ordered"),
    Question("User:b", "10.0.0.1", READ, TOPIC, "orders"),
    Question("User:d", "10.0.0.3", READ, TOPIC, "bills"),
]
COUNTS = [10, 1, 100, 1000]


def at(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def test_usage_sums() -> None:
    rows = sum_uses(parts_of(compile_index(BINDINGS), asked_table(QUESTIONS, COUNTS))).to_dicts()

    assert [row["binding"] for row in rows] == [0, 1, 2]
    everyones, own, denied = rows
    assert everyones == {
        "binding": 0,
        "uses": 11,
        "decisive_uses": 1,
        "first_ts": at(0),
        "last_ts": at(1_500_000),
        "principals": ["User:a"],
        "principal_count": 1,
        "hosts": ["10.0.0.1", "10.0.0.2"],
        "host_count": 2,
        "operations": ["DESCRIBE", "READ"],
        "operation_count": 2,
        "resources": ["ordered", "orders"],
        "resource_count": 2,
    }
    assert (own["uses"], own["decisive_uses"]) == (10, 0)
    assert (denied["uses"], denied["decisive_uses"]) == (100, 100)


def test_partial_sums_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    index, table = compile_index(BINDINGS), asked_table(QUESTIONS, COUNTS)
    whole = sum_uses(parts_of(index, table))

    monkeypatch.setattr(decision_table, "BLOCK_ROWS", 1)
    blocks = sum_uses(parts_of(index, asked_table(QUESTIONS, COUNTS)))
    halves = DecisionTable(table.rows.slice(0, 3)), DecisionTable(table.rows.slice(3))
    workers = sum_uses(pl.concat(parts_of(index, half) for half in halves))

    assert blocks.equals(whole)
    assert workers.equals(whole)


def test_value_lists_are_limited() -> None:
    many = [
        Question(f"User:{number:04}", "10.0.0.1", READ, TOPIC, "orders") for number in range(150)
    ]

    [row] = sum_uses(parts_of(compile_index(BINDINGS[:1]), asked_table(many))).to_dicts()

    assert row["principals"] == [f"User:{number:04}" for number in range(LISTED_MAX)]
    assert row["principal_count"] == 150
