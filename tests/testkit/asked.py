"""Questions as the pipeline has them: Arrow tables, with how often and when they were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from doorkeeper_pipeline.evaluation.decision_table import DecisionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.decision import Question
    from doorkeeper_pipeline.evaluation.index import Index

TIME = pa.timestamp("us", tz="UTC")


def asked(questions: Sequence[Question], counts: Sequence[int] | None = None) -> Any:
    """Return distinct questions, the first asked at second 0, the next at second 1, and so on.

    The last time of each is half a second after its first.
    """
    seconds = [place * 1_000_000 for place in range(len(questions))]
    return pa.table(
        {
            "principal": pa.array([each.principal for each in questions], pa.string()),
            "host": pa.array([each.host for each in questions], pa.string()),
            "operation": pa.array([each.operation.name for each in questions], pa.string()),
            "resource_type": pa.array([each.resource_type.name for each in questions], pa.string()),
            "resource_name": pa.array([each.name for each in questions], pa.string()),
            "count": pa.array(counts or [1] * len(questions), pa.int64()),
            "first_ts": pa.array(seconds, pa.int64()).cast(TIME),
            "last_ts": pa.array([each + 500_000 for each in seconds], pa.int64()).cast(TIME),
        }
    )


def asked_table(
    questions: Sequence[Question], counts: Sequence[int] | None = None
) -> DecisionTable:
    """Return distinct questions as a job is given them."""
    return DecisionTable(asked(questions, counts))


def answers_to(questions: Sequence[Question], index: Index) -> list[dict[str, Any]]:
    """Return what a set of ACLs decides: rows of allowed, rule and the number of the binding."""
    found = asked_table(questions).evaluate(index).decisions
    rows: list[dict[str, Any]] = pa.table(found.columns()).to_pylist()
    return rows
