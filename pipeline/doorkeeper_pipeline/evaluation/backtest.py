"""The decisions that another set of ACLs would turn.

Both sets decide every distinct question; those with two answers are the rows. Only they leave a
worker, so that the history may be large: the answer is as small as the change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from doorkeeper_pipeline.evaluation.questions import QUESTION, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
    from doorkeeper_pipeline.evaluation.index import Index

ALLOW_TO_DENY = "ALLOW_TO_DENY"
DENY_TO_ALLOW = "DENY_TO_ALLOW"

CHANGED = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in QUESTION),
        pa.field("turn", pa.string(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("first_ts", TIME, nullable=False),
        pa.field("last_ts", TIME, nullable=False),
        pa.field("rule_before", pa.string(), nullable=False),
        pa.field("binding_before", pa.int32()),
        pa.field("rule_after", pa.string(), nullable=False),
        pa.field("binding_after", pa.int32()),
    ]
)
"""The columns of changed decisions; bindings are numbers, each in its own set."""


RECORDED = (*QUESTION, "outcome", "rule")
"""By which columns decisions are asked for where no set in force is known."""


class Sets(NamedTuple):
    """The set of ACLs in force, and the one in its place."""

    before: Index
    after: Index


def changed_decisions(sets: Sets, table: DecisionTable) -> pa.Table:
    """Return the questions that the two sets answer differently, in the order of the table.

    The table has the five columns of a question, ``count``, ``first_ts`` and ``last_ts``.
    """
    before = table.evaluate(sets.before).decisions
    after = table.evaluate(sets.after).decisions
    which = np.flatnonzero(before.allowed != after.allowed)
    return _rows(table.rows, which, before.part(which).columns(), after.part(which).columns())


def turned_from_record(after: Index, table: DecisionTable) -> pa.Table:
    """Return the questions that a set answers otherwise than it was recorded, in their order.

    The table has the columns ``RECORDED``, ``count``, ``first_ts`` and ``last_ts``. A recorded rule
    has no binding here: it may be of no set that is known.
    """
    found = table.evaluate(after).decisions
    rows = table.rows
    allowed = pc.equal(rows.column("outcome"), "ALLOWED").to_numpy(zero_copy_only=False)
    which = np.flatnonzero(allowed != found.allowed)
    taken = pa.array(which)
    was = {
        "allowed": pa.array(allowed[which]),
        "rule": rows.column("rule").take(taken),
        "binding": pa.nulls(len(which), pa.int32()),
    }
    return _rows(rows, which, was, found.part(which).columns())


def _rows(
    rows: pa.Table, which: NDArray[np.int64], was: dict[str, Any], becomes: dict[str, Any]
) -> pa.Table:
    asked = rows.take(pa.array(which))
    columns = {
        **{name: asked.column(name) for name in (*QUESTION, "count", "first_ts", "last_ts")},
        "turn": pc.if_else(was["allowed"], ALLOW_TO_DENY, DENY_TO_ALLOW),
        "rule_before": was["rule"],
        "binding_before": was["binding"],
        "rule_after": becomes["rule"],
        "binding_after": becomes["binding"],
    }
    return pa.table([columns[name] for name in CHANGED.names], names=CHANGED.names).cast(CHANGED)
