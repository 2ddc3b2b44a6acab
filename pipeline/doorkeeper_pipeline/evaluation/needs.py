"""Needs: the allowed accesses of each principal, on which every proposal is based.

A need is (principal, host, operation, resource type, name). Its host is ``*`` where a binding for
every host let it through, and the asking address where only bindings for that address did, so that
a proposal is never wider than what is in force. Accesses of super users need no binding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from doorkeeper.acl.decision import RuleKind
from doorkeeper.acl.model import WILDCARD
from doorkeeper_pipeline.evaluation.deciding import RULES, decisions
from doorkeeper_pipeline.evaluation.matching import matches
from doorkeeper_pipeline.evaluation.questions import (
    COUNT,
    FIRST,
    HOST,
    LAST,
    OPERATION,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
    TIME,
    encode,
    texts_of,
)
from doorkeeper_pipeline.evaluation.usage import blocks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from doorkeeper.acl.model import AclBinding
    from doorkeeper_pipeline.evaluation.index import Index

NEED = (PRINCIPAL, HOST, RESOURCE_TYPE, RESOURCE_NAME, OPERATION)
"""The columns of a need, in the order in which needs are sorted."""

NEEDS = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in NEED),
        pa.field(COUNT, pa.int64(), nullable=False),
        pa.field(FIRST, TIME, nullable=False),
        pa.field(LAST, TIME, nullable=False),
    ]
)


class Grants(NamedTuple):
    """An index, and which of its bindings are for every host."""

    acls: Index
    any_host: NDArray[np.bool_]


def grants_of(index: Index, bindings: Sequence[AclBinding]) -> Grants:
    """Return the input of ``needs_of`` for the bindings of which the index was compiled."""
    return Grants(index, np.array([each.entry.host == WILDCARD for each in bindings], np.bool_))


def needs_of(grants: Grants, table: pa.Table) -> pa.Table:
    """Return the needs of distinct questions under a set of ACLs, not yet added.

    Raises:
        BadQuestions: the table holds no questions.

    """
    found = [_needs_in(grants, block) for block in blocks_of(table)]
    return pa.concat_tables([NEEDS.empty_table(), *found])


def logged_needs(super_users: frozenset[str], table: pa.Table) -> pa.Table:
    """Return the needs by the recorded outcomes, if no set of ACLs is known.

    The table has ``outcome`` too. The hosts of the bindings are unknown, so all needs are for
    ``*``.
    """
    allowed = pc.equal(table.column("outcome"), "ALLOWED")
    supers = pc.is_in(table.column(PRINCIPAL), value_set=pa.array(sorted(super_users), pa.string()))
    table = table.filter(pc.and_not(allowed, supers))
    hosts = pa.repeat(WILDCARD, table.num_rows)
    return _needs(table.set_column(table.schema.get_field_index(HOST), HOST, hosts))


def sum_needs(parts: pa.Table) -> pl.DataFrame:
    """Return needs each once, sorted, with counts summed and the first and the last time."""
    frame = pl.from_arrow(parts)
    assert isinstance(frame, pl.DataFrame)
    return (
        frame.group_by(NEED)
        .agg(pl.col(COUNT).sum(), pl.col(FIRST).min(), pl.col(LAST).max())
        .sort(NEED)
    )


def _needs_in(grants: Grants, table: pa.Table) -> pa.Table:
    questions = encode(grants.acls, texts_of(table))
    decided = decisions(grants.acls, questions)
    rules = RULES.index(RuleKind.SUPER_USER)
    needing = np.flatnonzero(decided.allowed & (decided.rules != rules))
    # What everybody may do by default is for every host, as is what a binding for all hosts allows.
    everywhere = decided.rules == RULES.index(RuleKind.DEFAULT_ALLOW)
    found = matches(grants.acls, questions)
    everywhere[found.questions[found.used & grants.any_host[found.bindings]]] = True
    hosts = pc.if_else(
        pa.array(everywhere[needing]), WILDCARD, table.column(HOST).take(pa.array(needing))
    )
    table = table.take(pa.array(needing))
    return _needs(table.set_column(table.schema.get_field_index(HOST), HOST, hosts))


def _needs(table: pa.Table) -> pa.Table:
    return pa.table([table.column(name) for name in NEEDS.names], names=NEEDS.names).cast(NEEDS)
