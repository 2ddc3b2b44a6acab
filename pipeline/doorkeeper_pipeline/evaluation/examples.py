"""Distinct decisions as examples of what a history has about some grants and principals.

USED         a grant let the request through, or is the DENY that refused it
SHUT         a grant allows the request, and a DENY refused it
ASKED        a principal made the request
REFUSED      a principal made it, and it was refused
CONTRADICTS  a principal made it, and its recorded outcome is not that of the ACLs
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import COUNTS

USED, SHUT = "USED", "SHUT"
ASKED, REFUSED, CONTRADICTS = "ASKED", "REFUSED", "CONTRADICTS"

NO_BINDING: Final = -1
"""The number in the column ``binding`` of examples that are about a principal."""

_TEXTS = ("principal", "host", "operation", "resource_type", "resource_name", "outcome", "api")
_ORDER = ("last_ts", *_TEXTS)

EXAMPLES = {
    "about": pl.String(),
    "binding": pl.Int32(),
    **dict.fromkeys(_TEXTS, pl.String()),
    **COUNTS,
}


class Sought(NamedTuple):
    """An index, the grants by number and the principals that examples are about, and how many.

    There are ``most`` for each grant, and for each principal.
    """

    acls: Index
    bindings: frozenset[int]
    principals: frozenset[str]
    most: int


def examples_in(sought: Sought, table: DecisionTable) -> pl.DataFrame:
    """Return the last examples in distinct questions, not yet chosen among all."""
    return table.find(sought.acls, lambda block: _examples(sought, block), EXAMPLES)


def _examples(sought: Sought, block: Block) -> pl.DataFrame:
    rows, matches = block.rows, block.matches
    chosen = np.isin(matches.bindings, np.array(sorted(sought.bindings), np.int32))
    parts = [
        rows[matches.questions[pairs]].with_columns(
            pl.lit(about).alias("about"), pl.Series("binding", matches.bindings[pairs], pl.Int32)
        )
        for about, pairs in ((USED, chosen & matches.used), (SHUT, chosen & ~matches.used))
    ]
    allowed = pl.col("outcome") == "ALLOWED"
    kinds = (
        (ASKED, pl.lit(value=True)),
        (REFUSED, ~allowed),
        (CONTRADICTS, allowed != pl.Series(block.decisions.allowed)),
    )
    own = pl.col("principal").is_in(list(sought.principals))
    parts += [
        rows.filter(own & kind).with_columns(
            pl.lit(about).alias("about"), pl.lit(NO_BINDING, pl.Int32).alias("binding")
        )
        for about, kind in kinds
    ]
    return last_of(pl.concat(parts), sought.most)


def last_of(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the last ``most`` examples of each kind for each grant, and each principal."""
    # Those of a grant are of any principals, the others of each.
    of_whom = pl.when(pl.col("binding") == NO_BINDING).then("principal").otherwise(pl.lit(""))
    return (
        rows.sort(_ORDER, descending=[True, *(False for _ in _TEXTS)])
        .group_by("about", "binding", of_whom.alias("of_whom"), maintain_order=True)
        .head(most)
        .drop("of_whom")
    )
