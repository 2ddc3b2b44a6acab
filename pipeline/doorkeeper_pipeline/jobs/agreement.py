"""The table agreement, and whether the evidence is enough to recommend anything."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from doorkeeper.acl.model import WILDCARD_PRINCIPAL
from doorkeeper_pipeline.bindings import binding_of_row, text_of
from doorkeeper_pipeline.evaluation.acl_sets import in_force
from doorkeeper_pipeline.evaluation.agreement import (
    COMPARED_BY,
    DISAGREEING,
    DISAGREEING_BY,
    GROUP,
    OUTCOME,
    PARTS,
    Given,
    compare,
    disagreeing,
    sum_outcomes,
)
from doorkeeper_pipeline.evaluation.deciding import decisions
from doorkeeper_pipeline.evaluation.evidence import Observed, evidence_of
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.questions import (
    COUNT,
    FIRST,
    LAST,
    PRINCIPAL,
    encode,
    texts_of,
)
from doorkeeper_pipeline.jobs.observed import days, span_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from doorkeeper_pipeline.evaluation.evidence import Evidence, Thresholds
    from doorkeeper_pipeline.jobs.gold import GoldInput

SKEW = dt.timedelta(minutes=1)
"""How far the time of a decision may be from that of the change of ACLs that it already knew.

Brokers' clocks differ, and a change reaches each of them later.
"""

_NO_CORRECTIONS = pl.DataFrame(schema={**dict.fromkeys(GROUP, pl.String()), "agreeing": pl.Int64()})


def agreement(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table; it is empty where no ACLs are given.

    Decisions that the ACLs in force at the end do not lead to are compared again, with those of
    their minute, where the times of changes are known.
    """
    current = in_force(asked.bindings).bindings
    if not current:
        return {"agreement": PARTS.empty_table()}
    rows = asked.bindings.to_pylist()
    index = compile_index(current, asked.policy, networks=asked.networks)
    given = Given(index, frozenset(text_of(binding_of_row(row)) for row in rows))
    parts = asked.engine.over_tuples(asked.decisions, compare, given, PARTS, COMPARED_BY)
    corrections = _NO_CORRECTIONS
    if _times(asked.bindings):
        left = asked.engine.over_tuples(
            asked.decisions, disagreeing, index, DISAGREEING, DISAGREEING_BY
        )
        corrections = _agreeing_then(asked, left)
    return {"agreement": sum_outcomes(parts, corrections)}


def basis_of(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the tables days and agreement."""
    return {**days(asked), **agreement(asked)}


def evidence(
    asked: GoldInput,
    tables: Mapping[str, pa.Table],
    thresholds: Thresholds,
    now: dt.datetime | None = None,
) -> Evidence:
    """Return the evidence in a history, with its tables days and agreement.

    Decisions later than ``now`` make it worthless; None if times are not to be checked.
    """
    found = span_of(tables["days"])
    observed = Observed(
        decisions=found.decisions,
        allowed=found.allowed,
        first=found.first,
        last=found.last,
        days=found.dates,
        has_acls=asked.bindings.column("valid_to").null_count > 0,
        now=now,
    )
    return evidence_of(observed, tables["agreement"].to_pylist(), asked.policy, thresholds)


def _times(bindings: pa.Table) -> list[dt.datetime]:
    """Return the times at which the ACLs changed, sorted."""
    columns = (bindings.column(name).to_pylist() for name in ("valid_from", "valid_to"))
    return sorted({time for column in columns for time in column if time is not None})


def _agreeing_then(asked: GoldInput, table: pa.Table) -> pl.DataFrame:
    """Return the decisions of a table like DISAGREEING that agree with the ACLs of their time."""
    times = _times(asked.bindings)
    principals = {*table.column(PRINCIPAL).to_pylist(), WILDCARD_PRINCIPAL}
    rows = [
        (row["valid_from"], row["valid_to"], binding_of_row(row))
        for row in asked.bindings.to_pylist()
        # Without an ACL on a resource, allow.everyone decides: then ACLs of others matter too.
        if asked.policy.allow_everyone or row["principal"] in principals
    ]
    epochs: dict[int, list[int]] = {}
    pairs = zip(table.column(FIRST).to_pylist(), table.column(LAST).to_pylist(), strict=True)
    for number, (first, last) in enumerate(pairs):
        for epoch in {bisect_right(times, at) for at in (first - SKEW, first, last, last + SKEW)}:
            epochs.setdefault(epoch, []).append(number)
    recorded = np.array(table.column(OUTCOME).to_pylist(), object) == "ALLOWED"
    agrees = np.zeros(table.num_rows, np.bool_)
    for epoch, numbers in sorted(epochs.items()):
        # The ACLs between two changes: those that came by the first, and did not go by it.
        begin = times[epoch - 1] if epoch else None
        bindings = sorted(
            {
                each
                for came, went, each in rows
                if (came is None or (begin is not None and came <= begin))
                and (went is None or begin is None or went > begin)
            }
        )
        index = compile_index(tuple(bindings), asked.policy, networks=asked.networks)
        found = decisions(index, encode(index, texts_of(table.take(numbers))))
        agrees[numbers] |= found.allowed == recorded[numbers]
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.filter(pl.Series(agrees)).select(*GROUP, pl.col(COUNT).alias("agreeing"))
