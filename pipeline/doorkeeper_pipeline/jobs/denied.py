"""The table ``denied``: denied accesses, and the grants that would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.evaluation.denied import REFUSALS, InForce, refusals_of
from doorkeeper_pipeline.evaluation.denied import denied_table as table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from doorkeeper_pipeline.jobs.gold import GoldInput


def denied_accesses(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table, sorted."""
    bindings = asked.acls.bindings
    shared = InForce(asked.index(bindings) if bindings else None)
    refusals = asked.engine.over_tuples(asked.distinct, refusals_of, shared, REFUSALS)
    return {"denied": table_of(refusals, bindings)}
