"""What shares and findings leave out: principals, and findings that are accepted until a day.

The tables keep all of it, and the output says how much is left out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

OF_BINDINGS: Final = ("broad", "unused", "wide")
"""The kinds of findings about an ACL: the id of one is its kind, a colon and the ACL's id."""

_IDS: Final = {
    "findings": pl.col("finding_id"),
    "denied": pl.format("refused:{}:{}", "cause", "principal"),
    "grant_usage": pl.format("unused:{}", "binding_id"),
}
"""The ids of findings about the rows of a table."""


class LeftOut(NamedTuple):
    """Principals, and the days until which findings are accepted, by the ids of findings."""

    principals: tuple[str, ...] = ()
    accepted: Mapping[str, dt.date] = {}

    def accepted_bindings(self) -> dict[str, dt.date]:
        """Return until when ACLs are accepted, by their ids."""
        parts = (name.partition(":") for name in self.accepted)
        return {
            binding_id: self.accepted[f"{kind}:{binding_id}"]
            for kind, _, binding_id in parts
            if kind in OF_BINDINGS
        }


NOTHING: Final = LeftOut()


def refusal_id() -> pl.Expr:
    """Return an expression for the ids of findings about the rows of ``denied``."""
    return _IDS["denied"]


def leave_out(
    tables: Mapping[str, pl.DataFrame], left_out: LeftOut
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return tables without what is left out of them, and lines that say how much that is.

    Those are findings, denied and grant_usage.
    """
    marked = {
        name: tables[name].with_columns(_why(ids, left_out).alias("left_out"))
        for name, ids in _IDS.items()
    }
    counted = {
        name: frame.filter(pl.col("left_out").is_null()).drop("left_out")
        for name, frame in marked.items()
    }
    gone = {name: frame.filter(pl.col("left_out").is_not_null()) for name, frame in marked.items()}
    return {**tables, **counted}, list(_lines(gone, left_out.principals))


def _why(ids: pl.Expr, left_out: LeftOut) -> pl.Expr:
    """Return an expression that says why a row is left out; null where it is not."""
    texts = {name: f"accepted until {day}" for name, day in left_out.accepted.items()}
    is_excluded = pl.col("principal").is_in(left_out.principals)
    return (
        pl.when(is_excluded)
        .then(pl.format(_excluded("{}"), "principal"))
        .otherwise(ids.replace_strict(texts, default=None, return_dtype=pl.String))
    )


def _lines(gone: Mapping[str, pl.DataFrame], principals: Sequence[str]) -> Iterator[str]:
    refusals = gone["denied"].filter(~pl.col("probe"))
    kind, binding = (pl.col("finding_id").str.extract("^(.*?):(.*)$", part) for part in (1, 2))
    found = gone["findings"].filter(kind.is_in(OF_BINDINGS), pl.col("gone").is_null())
    held = gone["grant_usage"].filter(pl.col("verdict") == "NOT_ENOUGH_EVIDENCE")
    acls = pl.concat(
        [
            found.select("left_out", binding.alias("binding_id")),
            held.select("left_out", "binding_id"),
        ]
    )
    numbers = {
        "refusal": refusals.group_by("left_out").agg(pl.col("count").sum()),
        "ACL": acls.unique().group_by("left_out").agg(pl.len().alias("count")),
    }
    counts = {unit: dict(frame.iter_rows()) for unit, frame in numbers.items()}
    for why in sorted({*counts["refusal"], *counts["ACL"], *map(_excluded, principals)}):
        amounts = [_amount(those[why], unit) for unit, those in counts.items() if why in those]
        yield f"{why}: {', '.join(amounts) or 'nothing, for it has no finding'}"


def _excluded(principal: str) -> str:
    return f"left out, as asked, of {principal}"


def _amount(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
