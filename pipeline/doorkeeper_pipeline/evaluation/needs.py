"""Needs: the allowed accesses of each principal, on which every proposal is based.

A need is (principal, host, operation, resource type, name). Its host is ``*`` where a binding for
every host let it through, and the asking address where only bindings for that address did, so that
a proposal is never wider than what is in force. Accesses of super users need no binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from doorkeeper.acls.decision import RuleKind
from doorkeeper.acls.model import WILDCARD, AclBinding
from doorkeeper_pipeline.evaluation.deciding import RULES
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import TIME

NEED = ("principal", "host", "resource_type", "resource_name", "operation")
"""The columns of a need, in the order in which needs are sorted."""

NEEDS = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in NEED),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("first_ts", TIME, nullable=False),
        pa.field("last_ts", TIME, nullable=False),
    ]
)


class Grants(NamedTuple):
    """An index, and which of its bindings are for every host."""

    acls: Index
    any_host: NDArray[np.bool_]


def grants_of(index: Index, bindings: Sequence[AclBinding]) -> Grants:
    """Return the input of ``needs_of`` for the bindings of which the index was compiled."""
    return Grants(index, np.array([each.entry.host == WILDCARD for each in bindings], np.bool_))


def needs_of(grants: Grants, table: DecisionTable) -> pa.Table:
    """Return the needs of distinct questions under a set of ACLs, not yet added."""
    blocks = table.evaluate(grants.acls).blocks()
    found = [_needs_in(grants.any_host, block) for block in blocks]
    return pa.concat_tables([NEEDS.empty_table(), *found])


def logged_needs(super_users: frozenset[str], table: DecisionTable) -> pa.Table:
    """Return the needs by the recorded outcomes, if no set of ACLs is known.

    The table has ``outcome`` too. The hosts of the bindings are unknown, so all needs are for
    ``*``.
    """
    rows = table.rows
    allowed = pc.equal(rows.column("outcome"), "ALLOWED")
    supers = pc.is_in(
        rows.column("principal"), value_set=pa.array(sorted(super_users), pa.string())
    )
    rows = rows.filter(pc.and_not(allowed, supers))
    return _needs(rows, pa.repeat(WILDCARD, rows.num_rows))


def sum_needs(parts: pa.Table) -> pl.DataFrame:
    """Return needs each once, sorted, with counts summed and the first and the last time."""
    frame = pl.from_arrow(parts)
    assert isinstance(frame, pl.DataFrame)
    return (
        frame.group_by(NEED)
        .agg(pl.col("count").sum(), pl.col("first_ts").min(), pl.col("last_ts").max())
        .sort(NEED)
    )


def kept_for(index: Index, needs: DecisionTable) -> pl.Series:
    """Return for each need the first ALLOW of a set that lets it through as `binding`, or null."""
    found = np.full(needs.rows.num_rows, index.size, np.int32)
    begin = 0
    for block in needs.evaluate(index).blocks():
        np.minimum.at(found, begin + block.matches.questions, block.matches.bindings)
        begin += block.questions.size
    return pl.Series("binding", found).replace(index.size, None)


def _needs_in(any_host: NDArray[np.bool_], block: Block) -> pa.Table:
    decided, found = block.decisions, block.matches
    rules = RULES.index(RuleKind.SUPER_USER)
    needing = np.flatnonzero(decided.allowed & (decided.rules != rules))
    # What everybody may do by default is for every host, as is what a binding for all hosts allows.
    everywhere = decided.rules == RULES.index(RuleKind.DEFAULT_ALLOW)
    everywhere[found.questions[found.used & any_host[found.bindings]]] = True
    rows = block.rows.take(pa.array(needing))
    hosts = pc.if_else(pa.array(everywhere[needing]), WILDCARD, rows.column("host"))
    return _needs(rows, hosts)


def _needs(rows: pa.Table, hosts: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return accesses as needs, for the hosts given."""
    columns = [hosts if name == "host" else rows.column(name) for name in NEEDS.names]
    return pa.table(columns, names=NEEDS.names).cast(NEEDS)
