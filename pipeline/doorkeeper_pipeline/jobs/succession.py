"""One set of ACLs after another: since when each binding is there, and until when it was.

A change log knows that itself. A listing (``kafka-acls.sh --list``, a file) has the ACLs in force
when it is read, so that bindings that a run finds new, or gone, came or went at that run. Those of
the first set came at an unknown time, and are known to be there since that listing.

    last run            this run          rows
    READ t, READ u      READ u, READ v    READ t until now; READ u; READ v since now
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.sources import acl_sets
from doorkeeper_pipeline.sources.acl_places import dated
from doorkeeper_pipeline.sources.change_log import SOURCE as CHANGE_LOG
from doorkeeper_pipeline.tables import contents

_NAME = list(FIELDS)
_ROW = [*_NAME, "valid_from"]
_IN_FORCE = pl.col("valid_to").is_null()


def follow_places(before: pl.DataFrame, places: Sequence[str], now: dt.datetime) -> pl.DataFrame:
    """Return the table bindings after the sets at some places, which may be listings with dates.

    With listings that have dates the history of the ACLs begins with the oldest of them.

    Raises:
        PipelineError: a date is in the future.
        Unreadable: a set cannot be read.

    """
    listings: dict[dt.datetime, list[str]] = {}
    others = []
    for listing in places:
        path, at = dated(listing)
        if at is None:
            others.append(path)
        elif at > now:
            raise PipelineError(f"{listing}: the date of the listing is in the future")
        else:
            listings.setdefault(at, []).append(path)
    bindings = contents.empty("bindings") if listings else before
    for at, paths in sorted(listings.items()):
        bindings = follow(bindings, acl_sets.read(paths), at)
    if not others:
        return bindings
    has_all = not all(acl_sets.has_changes_only(Path(path)) for path in others)
    return follow(bindings, acl_sets.read(others), now, has_all=has_all)


def follow(
    before: pl.DataFrame, current: pl.DataFrame, at: dt.datetime, *, has_all: bool = True
) -> pl.DataFrame:
    """Return the table bindings of a set that is found at a time where another one was before.

    The same set again changes no row. Rows of a change log stay as they are. What is not found is
    gone, unless the set does not have all bindings.
    """
    if before.is_empty():
        return _known(current, at)
    in_force = before.filter(_IN_FORCE)
    listed = pl.col("valid_from").is_null() & _IN_FORCE & (pl.col("source") != CHANGE_LOG)
    others = _known(
        current.filter(~listed).join(
            before.select(*_ROW, pl.col("known_from").alias("before")),
            on=_ROW,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        ),
        at,
    )
    stay = in_force.join(current.filter(listed), on=_NAME, how="semi")
    come = (
        current.filter(listed)
        .join(in_force, on=_NAME, how="anti")
        .with_columns(valid_from=at, known_from=at)
    )
    # What a change log says of a binding's end counts, and not that it is gone now.
    end = pl.max_horizontal(pl.lit(at), "valid_from")
    gone = in_force.join(current, on=_NAME, how="anti").with_columns(
        valid_to=end if has_all else "valid_to"
    )
    earlier = before.filter(~_IN_FORCE).join(others, on=_ROW, how="anti", nulls_equal=True)
    rows = [contents.as_frame("bindings", frame) for frame in (others, stay, come, gone, earlier)]
    return pl.concat(rows).sort(*_NAME, "valid_from", "binding_id")


def _known(rows: pl.DataFrame, at: dt.datetime) -> pl.DataFrame:
    """Return rows that are known to be there from a time on, if from no earlier one."""
    before = [pl.col("before")] if "before" in rows.columns else []
    since = pl.coalesce("known_from", "valid_from", *before, pl.lit(at))
    return contents.as_frame("bindings", rows.with_columns(known_from=since))
