"""The decisions that another set of ACLs would turn.

Both sets decide every distinct question; those with two answers are the rows. Only they leave a
worker, so that the history may be large: the answer is as small as the change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from doorkeeper_pipeline.evaluation.deciding import decisions
from doorkeeper_pipeline.evaluation.questions import QUESTION, encoded, texts_of
from doorkeeper_pipeline.evaluation.usage import COUNT, FIRST, LAST, TIME

if TYPE_CHECKING:
    from doorkeeper_pipeline.evaluation.index import Index

ALLOW_TO_DENY = "ALLOW_TO_DENY"
DENY_TO_ALLOW = "DENY_TO_ALLOW"

TURNED = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in QUESTION),
        pa.field("turn", pa.string(), nullable=False),
        pa.field(COUNT, pa.int64(), nullable=False),
        pa.field(FIRST, TIME, nullable=False),
        pa.field(LAST, TIME, nullable=False),
        pa.field("rule_before", pa.string(), nullable=False),
        pa.field("binding_before", pa.int32()),
        pa.field("rule_after", pa.string(), nullable=False),
        pa.field("binding_after", pa.int32()),
    ]
)
"""The columns of what was turned; bindings are numbers, each in its own set."""


class Sets(NamedTuple):
    """The set of ACLs in force, and the one in its place."""

    before: Index
    after: Index


def turned(sets: Sets, table: pa.Table) -> pa.Table:
    """Return the questions that the two sets answer differently, in the order of the table.

    The table has the five columns of a question, ``count``, ``first_ts`` and ``last_ts``.

    Raises:
        BadQuestions: the table holds no questions.

    """
    texts = texts_of(table)
    before = decisions(sets.before, encoded(sets.before, texts))
    after = decisions(sets.after, encoded(sets.after, texts))
    which = np.flatnonzero(before.allowed != after.allowed)
    asked = table.take(pa.array(which))
    was, becomes = before.taken(which).columns(), after.taken(which).columns()
    words = pa.array(np.where(before.allowed[which], ALLOW_TO_DENY, DENY_TO_ALLOW), pa.string())
    columns = {
        **{name: asked.column(name) for name in (*QUESTION, COUNT, FIRST, LAST)},
        "turn": words,
        "rule_before": was["rule"],
        "binding_before": was["binding"],
        "rule_after": becomes["rule"],
        "binding_after": becomes["binding"],
    }
    return pa.table([columns[name] for name in TURNED.names], names=TURNED.names).cast(TURNED)
