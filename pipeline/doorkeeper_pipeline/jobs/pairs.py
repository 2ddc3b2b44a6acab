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
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from doorkeeper_pipeline.jobs.belonging import AUTHORIZER_LOG
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper_pipeline.engines.contract import Engine

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


class Pairs(NamedTuple):
    """Requests that write two lines, with both and with one of them."""

    paired: int
    unpaired: int


def pairs_of(engine: Engine, files: Sequence[str]) -> dict[dt.date, Pairs]:
    """Return the pairs of each day in files of decisions, of which those of a day are together."""
    by_folder = groupby(sorted(files), key=lambda file: file.rpartition("/")[0])
    tasks = [tuple(those) for _, those in by_folder]
    paired: Counter[dt.date] = Counter()
    unpaired: Counter[dt.date] = Counter()
    for found in engine.map(pairs_in, tasks, None):
        for day, both, one in found:
            paired[day] += both
            unpaired[day] += one
    return {day: Pairs(paired[day], unpaired[day]) for day in paired}


def pairs_in(_: None, files: tuple[str, ...]) -> list[tuple[dt.date, int, int]]:
    """Return day, pairs and requests that lack a line: the function of the tasks."""
    is_commit = pl.col("api").is_in(COMMITS)
    rows = (
        contents.scan("decisions", files)
        .filter(pl.col("source") == AUTHORIZER_LOG, _GROUP | (_TOPIC & is_commit))
        .select(_COLUMNS)
        .collect()
    )
    found = pl.concat([_commits(rows.filter(is_commit)), _look_ups(rows)])
    sums = found.group_by("day").agg(pl.col("is_paired").sum(), pl.len())
    return [(day, both, count - both) for day, both, count in sums.iter_rows()]


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
    key = ("minute", *_CLIENT, "resource_name")
    # The minute after the last one is in files of another day.
    before_last = pl.col("minute") < pl.lit(rows["minute"].max(), pl.Datetime("us", "UTC"))
    found = (
        rows.filter(_GROUP, _ALLOWED, pl.col("api") == LOOK_UP)
        .filter(before_last, pl.len().over("day", *_CLIENT, "resource_name") <= LOOK_UPS_MAX)
        .unique(key)
    )
    others = rows.filter(_GROUP, pl.col("api") != LOOK_UP).select(key)
    before = others.with_columns(pl.col("minute") - dt.timedelta(minutes=1))
    followed = pl.concat([others, before]).unique().with_columns(is_paired=pl.lit(value=True))
    return found.join(followed, on=key, how="left").select(
        "day", pl.col("is_paired").fill_null(value=False)
    )
