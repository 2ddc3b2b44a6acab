"""Denied accesses, and the smallest grant that would help.

Refusals of all addresses and requests are one row. Probes, which only
ask for permitted operations, are apart from real denials. The reason is that of the ACLs in force
today, or the recorded one without ACLs:

    DENY         a binding denies it, and no grant helps
    NO_ACL       no binding allows it
    ALLOWED_NOW  the set in force allows it: granted since
    UNKNOWN      nothing was recorded, and no set of ACLs is given
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from doorkeeper.acl.decision import RuleKind
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from doorkeeper.acl.privileges import grant_of
from doorkeeper_pipeline.bindings import command_of, text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.deciding import NO_BINDING, decisions
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
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX
from doorkeeper_pipeline.schemas import DENIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from doorkeeper_pipeline.evaluation.index import Index

OUTCOME, API, PROBE = "outcome", "api", "probe"
RULE, RULE_BINDING = "rule", "rule_binding"
ASKED = (
    PRINCIPAL,
    HOST,
    OPERATION,
    RESOURCE_TYPE,
    RESOURCE_NAME,
    OUTCOME,
    PROBE,
    API,
    RULE,
    RULE_BINDING,
)
"""By which columns of the table decisions refusals are asked for."""

REFUSAL = (PRINCIPAL, OPERATION, RESOURCE_TYPE, RESOURCE_NAME, PROBE)
"""The columns that identify a row."""

REASONS = ("DENY", "NO_ACL", "ALLOWED_NOW", "UNKNOWN")
"""The first that holds for any address is the reason of the row."""

_DENY, _NO_ACL, _ALLOWED_NOW, _UNKNOWN = range(len(REASONS))

REFUSALS = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in REFUSAL[:-1]),
        pa.field(PROBE, pa.bool_(), nullable=False),
        pa.field(COUNT, pa.int64(), nullable=False),
        pa.field(FIRST, TIME, nullable=False),
        pa.field(LAST, TIME, nullable=False),
        pa.field("hosts", pa.list_(pa.string()), nullable=False),
        pa.field("host_count", pa.int64(), nullable=False),
        pa.field("apis", pa.list_(pa.string()), nullable=False),
        pa.field("reason", pa.int32(), nullable=False),
        pa.field("binding", pa.int32()),
        pa.field(RULE_BINDING, pa.string(), nullable=False),
    ]
)
"""A refusal before it is put in words; ``reason`` is a place in ``REASONS``."""


class InForce(NamedTuple):
    """The set in force, compiled; None where none is given."""

    acls: Index | None


def refusals_of(shared: InForce, table: pa.Table) -> pa.Table:
    """Return the refusals among decisions; those of a principal and a name must stand in one table.

    Raises:
        BadQuestions: the table holds no questions.

    """
    table = table.filter(pc.equal(table.column(OUTCOME), "DENIED"))
    reasons, bindings = (
        _recorded_reasons(table) if shared.acls is None else _current_reasons(shared.acls, table)
    )
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.with_columns(
        pl.Series("reason", reasons, pl.Int32),
        pl.Series("binding", bindings, pl.Int32).replace(NO_BINDING, None),
    )
    found = frame.group_by(REFUSAL).agg(
        pl.col(COUNT).sum(),
        pl.col(FIRST).min(),
        pl.col(LAST).max(),
        pl.col(HOST).unique().sort().head(LISTED_MAX).alias("hosts"),
        pl.col(HOST).n_unique().cast(pl.Int64).alias("host_count"),
        pl.col(API).filter(pl.col(API) != "").unique().sort().alias("apis"),
        pl.col("reason").min(),
        pl.col("binding").min(),
        pl.col(RULE_BINDING).filter(pl.col("reason") == _DENY).min().fill_null(""),
    )
    return found.sort(REFUSAL).select(REFUSALS.names).to_arrow().cast(REFUSALS)


def denied_table(refusals: pa.Table, bindings: tuple[AclBinding, ...]) -> pa.Table:
    """Return the table ``denied``, sorted; bindings are those of the index."""
    rows = [_row(refusal, bindings) for refusal in refusals.to_pylist()]
    rows.sort(key=lambda row: tuple(row[name] for name in REFUSAL))
    return pa.Table.from_pylist(rows, schema=arrow_schema(DENIED))


def _current_reasons(index: Index, table: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    found = decisions(index, encode(index, texts_of(table)))
    by_binding = np.where(found.allowed, NO_BINDING, found.bindings)
    reasons = np.where(found.allowed, _ALLOWED_NOW, np.where(by_binding >= 0, _DENY, _NO_ACL))
    return reasons, by_binding.astype(np.int32)


def _recorded_reasons(table: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    rules = np.array(table.column(RULE).to_pylist(), object)
    reasons = np.full(len(rules), _UNKNOWN)
    reasons[rules == RuleKind.MATCHING_ACL.value] = _DENY
    reasons[rules == RuleKind.DEFAULT_DENY.value] = _NO_ACL
    return reasons, np.full(len(rules), NO_BINDING, np.int32)


def _row(refusal: dict[str, Any], bindings: tuple[AclBinding, ...]) -> dict[str, Any]:
    reason = REASONS[refusal["reason"]]
    denying = None if refusal["binding"] is None else bindings[refusal["binding"]]
    text, command = "", ""
    # No command for a DENY: to remove it may open far more than this request needs.
    if reason in ("NO_ACL", "UNKNOWN"):
        grant = grant_of(
            refusal[PRINCIPAL],
            ResourceType[refusal[RESOURCE_TYPE]],
            refusal[RESOURCE_NAME],
            AclOperation[refusal[OPERATION]],
        )
        if grant is not None:
            text, command = text_of(grant), command_of(grant)
    return {
        **{name: refusal[name] for name in (*REFUSAL, COUNT, FIRST, LAST)},
        **{name: refusal[name] for name in ("hosts", "host_count", "apis")},
        "reason": reason,
        "denied_by": refusal[RULE_BINDING] if denying is None else text_of(denying),
        "grant_text": text,
        "command": command,
    }
