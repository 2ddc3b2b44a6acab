"""What shares and findings leave out: principals, and findings that are accepted until a day.

The tables keep all of it, and the output says how much is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

OF_BINDINGS: Final = ("broad", "unused")
"""The kinds of findings about an ACL: the id of one is its kind, a colon and the ACL's id."""

_WHY: Final = "left_out"
_ACL: Final = ("principal", "resource_type", "resource_name", "pattern_type", "operation", "host")


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
    return pl.format("refused:{}:{}", "cause", "principal")


def leave_out(
    tables: Mapping[str, pl.DataFrame], left_out: LeftOut
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return tables without what is left out of them, and lines that say how much that is."""
    marked = {
        name: _marked(frame, left_out)
        for name, frame in tables.items()
        if name in ("denied", "unused_grants", "overbroad_grants")
    }
    counted = {
        name: frame.filter(pl.col(_WHY).is_null()).drop(_WHY) for name, frame in marked.items()
    }
    gone = {name: frame.filter(pl.col(_WHY).is_not_null()) for name, frame in marked.items()}
    return {**tables, **counted}, list(_lines(gone, left_out.principals))


def _marked(frame: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Add a column that says why a row is left out; null where it is not."""
    if "binding_id" in frame.columns:
        accepted, ids = left_out.accepted_bindings(), pl.col("binding_id")
    else:
        accepted, ids = dict(left_out.accepted), refusal_id()
    texts = {each: f"accepted until {day}" for each, day in accepted.items()}
    is_excluded = pl.col("principal").is_in(left_out.principals)
    return frame.with_columns(
        pl.when(is_excluded)
        .then(pl.format(_excluded("{}"), "principal"))
        .otherwise(ids.replace_strict(texts, default=None, return_dtype=pl.String))
        .alias(_WHY)
    )


def _lines(gone: Mapping[str, pl.DataFrame], principals: Sequence[str]) -> Iterator[str]:
    refusals = gone["denied"].filter(~pl.col("probe"))
    acls = pl.concat(
        gone[name].select(_WHY, *_ACL) for name in ("unused_grants", "overbroad_grants")
    )
    numbers = {
        "refusal": refusals.group_by(_WHY).agg(pl.col("count").sum()),
        "ACL": acls.unique().group_by(_WHY).agg(pl.len().alias("count")),
    }
    found = {unit: dict(frame.iter_rows()) for unit, frame in numbers.items()}
    for why in sorted({*found["refusal"], *found["ACL"], *map(_excluded, principals)}):
        amounts = [_amount(counts[why], unit) for unit, counts in found.items() if why in counts]
        yield f"{why}: {', '.join(amounts) or 'nothing, for it has no finding'}"


def _excluded(principal: str) -> str:
    return f"left out, as asked, of {principal}"


def _amount(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
