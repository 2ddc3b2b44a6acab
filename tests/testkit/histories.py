"""Small histories for jobs of the pipeline: decisions in Parquet, as a run leaves them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.evidence import NO_THRESHOLDS, Thresholds
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.tables.contents import schema_of
from testkit import reference
from testkit.acl_tables import bindings_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.acls.decision import Question
    from doorkeeper.acls.model import AclBinding

BEGIN = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question, on which day of the history, and how often."""

    question: Question
    day: int = 0
    count: int = 1
    api: str = "Fetch"
    probe: bool = False


def decisions(
    asking: Sequence[Asking], bindings: Sequence[AclBinding], policy: Policy
) -> list[dict[str, Any]]:
    """Return rows of the table decisions: the answers are those of the naive reference."""
    rows = []
    for each in asking:
        at = BEGIN + dt.timedelta(days=each.day)
        answer = reference.decide(policy, bindings, each.question)
        principal, host, operation, resource_type, name = each.question
        rows.append(
            {
                "day": at.date(),
                "minute": at,
                "principal": principal,
                "host": host,
                "operation": operation.name,
                "resource_type": resource_type.name,
                "resource_name": name,
                "outcome": "ALLOWED" if answer.allowed else "DENIED",
                "api": each.api,
                "rule": answer.rule,
                "rule_binding": "" if answer.binding is None else text_of(answer.binding),
                "probe": each.probe,
                "source": "trail",
                "count": each.count,
                "first_ts": at,
                "last_ts": at + dt.timedelta(seconds=30),
            }
        )
    return rows


def asked_of(
    folder: Path,
    asking: Sequence[Asking],
    bindings: Sequence[AclBinding],
    *,
    policy: Policy | None = None,
    engine: Engine | None = None,
    known: bool = True,
    thresholds: Thresholds = NO_THRESHOLDS,
) -> GoldInput:
    """Return what jobs are given: a file for each row; ACLs only where they are known."""
    policy = policy or Policy()
    files: list[str] = []
    for row in decisions(asking, bindings, policy):
        path = folder / f"{len(files):05}.parquet"
        pl.DataFrame([row], schema=schema_of("decisions")).write_parquet(path)
        files.append(str(path))
    return GoldInput(
        engine=engine or Engine(),
        decisions=tuple(files),
        bindings=bindings_table(bindings if known else ()),
        policy=policy,
        thresholds=thresholds,
    )
