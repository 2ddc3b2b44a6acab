"""Questions as the pipeline has them: frames, with how often and when they were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper_pipeline.evaluation.decision_table import DecisionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.decision import Question
    from doorkeeper_pipeline.evaluation.index import Index

TIME = pl.Datetime("us", "UTC")


def asked(questions: Sequence[Question], counts: Sequence[int] | None = None) -> Any:
    """Return distinct questions, the first asked at second 0, the next at second 1, and so on.

    The last time of each is half a second after its first.
    """
    seconds = [place * 1_000_000 for place in range(len(questions))]
    texts = ("principal", "host", "operation", "resource_type", "resource_name")
    return pl.DataFrame(
        {
            "principal": [each.principal for each in questions],
            "host": [each.host for each in questions],
            "operation": [each.operation.name for each in questions],
            "resource_type": [each.resource_type.name for each in questions],
            "resource_name": [each.name for each in questions],
            "count": counts or [1] * len(questions),
            "first_ts": pl.Series(seconds, dtype=pl.Int64).cast(TIME),
            "last_ts": pl.Series([each + 500_000 for each in seconds], dtype=pl.Int64).cast(TIME),
        },
        schema_overrides={**dict.fromkeys(texts, pl.String), "count": pl.Int64},
    )


def asked_table(
    questions: Sequence[Question], counts: Sequence[int] | None = None
) -> DecisionTable:
    """Return distinct questions as a job is given them."""
    return DecisionTable(asked(questions, counts))


def answers_to(questions: Sequence[Question], index: Index) -> list[dict[str, Any]]:
    """Return what a set of ACLs decides: rows of allowed, rule and the number of the binding."""
    return asked_table(questions).evaluate(index).decisions.frame().to_dicts()
