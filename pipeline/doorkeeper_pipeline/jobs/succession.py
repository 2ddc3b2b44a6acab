"""One set of ACLs after another: since when each binding is there, and until when it was.

A change log knows that itself. A listing (``kafka-acls.sh --list``, a file) has the ACLs in force
when it is read, so that bindings that a run finds new, or gone, came or went at that run. Bindings
of the first set were always there.

    last run            this run          rows
    READ t, READ u      READ u, READ v    READ t until now; READ u; READ v since now
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.sources.change_log import SOURCE as CHANGE_LOG
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    import datetime as dt

_NAME = list(FIELDS)
_ROW = [*_NAME, "valid_from"]
_IN_FORCE = pl.col("valid_to").is_null()


def follow(before: pl.DataFrame, found: pl.DataFrame, at: dt.datetime) -> pl.DataFrame:
    """Return the table bindings of a set that is found at a time where another one was before.

    The same set again changes no row. Rows of a change log stay as they are.
    """
    if before.is_empty():
        return found
    in_force = before.filter(_IN_FORCE)
    listed = pl.col("valid_from").is_null() & _IN_FORCE & (pl.col("source") != CHANGE_LOG)
    others = found.filter(~listed)
    stay = in_force.join(found.filter(listed), on=_NAME, how="semi")
    come = found.filter(listed).join(in_force, on=_NAME, how="anti").with_columns(valid_from=at)
    # What a change log says of a binding's end counts, and not that it is gone now.
    gone = in_force.join(found, on=_NAME, how="anti").with_columns(
        valid_to=pl.max_horizontal(pl.lit(at), "valid_from")
    )
    earlier = before.filter(~_IN_FORCE).join(others, on=_ROW, how="anti", nulls_equal=True)
    rows = [contents.as_frame("bindings", each) for each in (others, stay, come, gone, earlier)]
    return pl.concat(rows).sort(*_NAME, "valid_from", "binding_id")
