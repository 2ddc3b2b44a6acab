"""The table agreement, and whether the evidence is enough to recommend anything."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from doorkeeper.acls.model import WILDCARD_PRINCIPAL
from doorkeeper_pipeline.bindings import binding_of_row
from doorkeeper_pipeline.evaluation.agreement import (
    DISAGREEING,
    DISAGREEING_BY,
    GROUP,
    PARTS,
    Given,
    compare,
    disagreeing,
    sum_outcomes,
)
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.evidence import BrokerLog, Evidence, Thresholds
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.literals import text
from doorkeeper_pipeline.jobs.asking import Question, ask
from doorkeeper_pipeline.jobs.basis import Basis, evidence_in
from doorkeeper_pipeline.jobs.clients import clients
from doorkeeper_pipeline.jobs.distinct import Part
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.observed import days

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
    current = asked.acls.bindings
    if not current:
        return {"agreement": PARTS.empty_table()}
    parts = asked.answer(outcomes)
    corrections = _NO_CORRECTIONS
    agrees = pc.all(pc.equal(parts.column("count"), parts.column("agreeing"))).as_py()
    if _times(asked.bindings) and not agrees:
        by_minute = [Part((file,), DISAGREEING_BY) for file in asked.decisions]
        again = Question(disagreeing, asked.index(current), DISAGREEING)
        [left] = ask(asked.engine, by_minute, [again], {})
        corrections = _agreeing_then(asked, left)
    return {"agreement": sum_outcomes(parts, corrections)}


def outcomes(asked: GoldInput) -> Question:
    """Ask for recorded outcomes beside those that the ACLs in force at the end lead to."""
    frame = pl.from_arrow(asked.bindings)
    assert isinstance(frame, pl.DataFrame)
    texts = frame.select(text()).to_series().unique()
    return Question(compare, Given(asked.index(asked.acls.bindings), texts), PARTS)


def evidence(
    asked: GoldInput,
    thresholds: Thresholds,
    now: dt.datetime | None = None,
    logs: tuple[BrokerLog, ...] | None = None,
) -> Evidence:
    """Return the evidence in a history, of which the tables days, clients and agreement are made.

    Decisions later than ``now`` make it worthless; None if times are not to be checked. ``logs``
    are those of brokers, where there are such.
    """
    basis = Basis(
        days(asked)["days"].to_pylist(),
        clients(asked)["clients"].to_pylist(),
        agreement(asked)["agreement"].to_pylist(),
        asked.bindings.column("valid_to").null_count > 0,
        logs,
    )
    return evidence_in(basis, asked.policy, thresholds, now)


def _times(bindings: pa.Table) -> list[dt.datetime]:
    """Return the times at which the ACLs changed, sorted."""
    columns = (bindings.column(name).to_pylist() for name in ("valid_from", "valid_to"))
    return sorted({time for column in columns for time in column if time is not None})


def _agreeing_then(asked: GoldInput, table: pa.Table) -> pl.DataFrame:
    """Return the decisions of a table like DISAGREEING that agree with the ACLs of their time."""
    times = _times(asked.bindings)
    principals = {*table.column("principal").to_pylist(), WILDCARD_PRINCIPAL}
    rows = [
        (row["valid_from"], row["valid_to"], binding_of_row(row))
        for row in asked.bindings.to_pylist()
        # Without an ACL on a resource, allow.everyone decides: then ACLs of others matter too.
        if asked.policy.allow_everyone or row["principal"] in principals
    ]
    epochs: dict[int, list[int]] = {}
    pairs = zip(
        table.column("first_ts").to_pylist(), table.column("last_ts").to_pylist(), strict=True
    )
    for number, (first, last) in enumerate(pairs):
        for epoch in {bisect_right(times, at) for at in (first - SKEW, first, last, last + SKEW)}:
            epochs.setdefault(epoch, []).append(number)
    recorded = np.array(table.column("outcome").to_pylist(), object) == "ALLOWED"
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
        found = DecisionTable(table.take(numbers)).evaluate(index).decisions
        agrees[numbers] |= found.allowed == recorded[numbers]
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.filter(pl.Series(agrees)).select(*GROUP, pl.col("count").alias("agreeing"))
