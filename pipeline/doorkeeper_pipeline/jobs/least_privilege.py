"""For each principal the smallest set that allows all that was used: the table least_privilege.

A grant in force stands for the needs whose names are generated (``evaluation.generated``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.privileges import Privilege, history_names, least
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.literals import (
    commands_of,
    frame_of,
    ids_of,
    literal_grants,
)
from doorkeeper_pipeline.evaluation.needs import (
    NEEDS,
    kept_for,
    logged_needs,
    needs_of,
    sum_needs,
)
from doorkeeper_pipeline.evaluation.overbroad import need_of
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.grants import generated_in
from doorkeeper_pipeline.jobs.observed import history
from doorkeeper_pipeline.tables import contents


def least_privilege(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table, of literals only: prefixes are an option of ``propose``."""
    return {"least_privilege": table_of(least_in(asked))}


def least_in(
    asked: GoldInput, *, prefixes: bool = False, staying: Iterable[AclBinding] = ()
) -> pl.DataFrame:
    """Return the least privileges of all principals of the history.

    They have the columns of their bindings and kind, support, names, resource_count, covers,
    first_ts and last_ts, in the order of the bindings. What grants that are ``staying`` allow needs
    none.
    """
    current = asked.acls.bindings
    needs = sum_needs(asked.answer(needed))
    generated = (
        tuple(current[number] for number in sorted(asked.once(generated_in))) if current else ()
    )
    _, needs = _through(tuple(staying), needs, networks=asked.networks)
    patterns, needs = _through(generated, needs, networks=asked.networks)
    if not prefixes:
        privileges = _literals(literal_grants(needs))
    else:
        need_values = [need_of(row) for row in needs.iter_rows()]
        known = history_names(history(asked).names, need_values, current)
        privileges = _frame_of(least(need_values, known, prefixes=True))
    return pl.concat([privileges, patterns])


def principals_in(asked: GoldInput) -> frozenset[str]:
    """Return the principals with a need in the history."""
    return frozenset(asked.answer(needed)["principal"])


def needed(asked: GoldInput) -> Question:
    """Ask for the needs under the set in force, or by the recorded outcomes."""
    current = asked.acls.bindings
    if current:
        hosts = [binding.entry.host for binding in current]
        return Question(partial(needs_of, asked.index, hosts), NEEDS)
    return Question(partial(logged_needs, asked.policy.super_users), NEEDS)


def _through(
    staying: tuple[AclBinding, ...], needs: pl.DataFrame, *, networks: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return grants that stay for their needs, as privileges, and the needs of no such grant."""
    if not staying or needs.is_empty():
        return NO_PRIVILEGES, needs
    index = compile_index(staying, Policy(), networks=networks)
    needs = needs.with_columns(kept_for(index, DecisionTable(needs)))
    totals = (
        needs.drop_nulls("binding")
        .group_by("binding")
        .agg(
            pl.col("count").sum().alias("support"),
            pl.col("resource_name").unique().sort().head(LISTED_MAX).alias("names"),
            pl.col("resource_name").n_unique().cast(pl.Int64).alias("resource_count"),
            pl.col("first_ts").min(),
            pl.col("last_ts").max(),
        )
        .sort("binding")
    )
    privileges = pl.concat(
        [frame_of(staying[number] for number in totals["binding"]), totals], how="horizontal"
    ).with_columns(pl.lit("PATTERN").alias("kind"), _NO_NAMES.alias("covers"))
    left = needs.filter(pl.col("binding").is_null()).drop("binding")
    return privileges.select(NO_PRIVILEGES.columns), left


def table_of(privileges: pl.DataFrame) -> pl.DataFrame:
    """Return privileges as the table."""
    frame = privileges.with_columns(
        ids_of(privileges),
        commands_of(privileges),
        pl.col("names").list.head(LISTED_MAX).alias("resources"),
        pl.col("first_ts").alias("first_used"),
        pl.col("last_ts").alias("last_used"),
    )
    return contents.of_job("least_privilege", frame)


_NO_NAMES = pl.lit([], pl.List(pl.String))


def _literals(grants: pl.DataFrame) -> pl.DataFrame:
    """Return literal grants as privileges, each of its own name."""
    return grants.with_columns(
        pl.lit("LITERAL").alias("kind"),
        pl.col("count").alias("support"),
        pl.concat_list("resource_name").alias("names"),
        pl.lit(1, pl.Int64).alias("resource_count"),
        _NO_NAMES.alias("covers"),
    ).select(NO_PRIVILEGES.columns)


_TIME, _TEXTS = pl.Datetime("us", "UTC"), pl.List(pl.String)


def _frame_of(privileges: Sequence[Privilege]) -> pl.DataFrame:
    return frame_of(privilege.binding for privilege in privileges).with_columns(
        pl.Series("kind", [privilege.kind for privilege in privileges], pl.String),
        pl.Series("support", [privilege.support for privilege in privileges], pl.Int64),
        pl.Series("names", [privilege.names for privilege in privileges], _TEXTS),
        pl.Series("resource_count", [len(privilege.names) for privilege in privileges], pl.Int64),
        pl.Series("covers", [privilege.covers for privilege in privileges], _TEXTS),
        pl.Series("first_ts", [privilege.first for privilege in privileges], _TIME),
        pl.Series("last_ts", [privilege.last for privilege in privileges], _TIME),
    )


NO_PRIVILEGES = _frame_of(())
"""None, in the columns of privileges."""
