"""Requests that write two lines into the log of an authorizer, and those that lack one of them.

    OffsetCommit, TxnOffsetCommit   a line for the group, and one for each topic
    FindCoordinator                 a line for the group, which another request for it follows

A minute is as exact as the table of decisions is: two commits of a client within one are not told
apart, and are left out. Logs that have no lines for topics of commits are not Kafka's own.

Source: ``KafkaApis.handleOffsetCommitRequest`` (4.3.1); clients look for a coordinator before they
ask it.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import polars as pl

from doorkeeper_pipeline.jobs.belonging import AUTHORIZER_LOG

COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")
LOOK_UP: Final = "FindCoordinator"
LOOK_UPS_MAX: Final = 12
"""Of a client and a group within a day; librdkafka looks every ten minutes, whatever it does."""

_CLIENT = ("principal", "host")
_GROUP, _TOPIC = (pl.col("resource_type") == kind for kind in ("GROUP", "TOPIC"))
_ALLOWED = pl.col("outcome") == "ALLOWED"
_COLUMNS = (
    *("day", "minute", *_CLIENT, "api"),
    *("resource_type", "resource_name", "outcome", "count"),
)


def pairs_in(decisions: pl.LazyFrame) -> pl.DataFrame:
    """Return for each day the requests that write two lines, ``paired`` and ``unpaired``.

    All decisions of a day must be there.
    """
    is_commit = pl.col("api").is_in(COMMITS)
    rows = (
        decisions.filter(pl.col("source") == AUTHORIZER_LOG, _GROUP | (_TOPIC & is_commit))
        .select(_COLUMNS)
        .collect()
    )
    found = pl.concat([_commits(rows.filter(is_commit)), _look_ups(rows)])
    return found.group_by("day").agg(
        pl.col("is_paired").sum().cast(pl.Int64).alias("paired"),
        (~pl.col("is_paired")).sum().cast(pl.Int64).alias("unpaired"),
    )


def _commits(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for commits in minutes with one of a client whether both kinds of lines are there."""
    group = pl.col("count").filter(_GROUP)
    found = (
        rows.group_by("day", "minute", *_CLIENT, "api")
        .agg(
            group.sum().alias("groups"),
            pl.col("count").filter(_TOPIC).sum().alias("topics"),
            (_GROUP & ~_ALLOWED).any().alias("refused"),
        )
        # A refused one has no line for topics.
        .filter((pl.col("groups") <= 1) & ~pl.col("refused"))
    )
    has_topics = (pl.col("topics") > 0).any()
    return found.filter(has_topics).select(
        "day", is_paired=(pl.col("groups") > 0) & (pl.col("topics") > 0)
    )


def _look_ups(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for look-ups whether another request for the group came within a minute or two."""
    whose = (*_CLIENT, "resource_name")
    # The minute after the last one is in files of another day.
    before_last = pl.col("minute") < pl.lit(rows["minute"].max(), pl.Datetime("us", "UTC"))
    asked = rows.filter(_GROUP, _ALLOWED, pl.col("api") == LOOK_UP)
    few = asked.group_by("day", *whose).len().filter(pl.col("len") <= LOOK_UPS_MAX)
    found = asked.filter(before_last).join(few, on=["day", *whose], how="semi")
    found = found.unique(["minute", *whose])
    others = rows.filter(_GROUP, pl.col("api") != LOOK_UP).select("minute", *whose)
    others = others.join(found, on=whose, how="semi")
    before = others.with_columns(pl.col("minute") - dt.timedelta(minutes=1))
    followed = pl.concat([others, before]).unique().with_columns(is_paired=pl.lit(value=True))
    return found.join(followed, on=["minute", *whose], how="left").select(
        "day", pl.col("is_paired").fill_null(value=False)
    )
