"""The table ``denied``: denied accesses, and the grants that would help."""

from __future__ import annotations

import pyarrow as pa

from doorkeeper_pipeline.evaluation.denied import REFUSALS, InForce, refusals_of
from doorkeeper_pipeline.evaluation.denied import denied_table as table_of
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.gold import GoldInput


def denied_accesses(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table, sorted."""
    return {"denied": table_of(asked.answer(refusals), asked.acls.bindings)}


def refusals(asked: GoldInput) -> Question:
    """Ask for the refusals."""
    bindings = asked.acls.bindings
    return Question(refusals_of, InForce(asked.index(bindings) if bindings else None), REFUSALS)
