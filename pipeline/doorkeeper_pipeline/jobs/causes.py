"""The table findings: what somebody should decide, and what can be done, each with its cause.

    action  cause        what is found
    SAFE    unused       a grant that no decision needed: verdict REMOVE
    SAFE    dormant      the same, of a principal that made no request at all
    DECIDE  host, unknown-age, deny-first, cluster-first, refused, renamed
                         verdict ASK, by the rule of that name; host has DENYs too
    DECIDE  broad        a far-reaching grant that stays: severity CRITICAL or HIGH
    DECIDE  wide         another grant for which narrower ones would do
    DECIDE  probing ...  a principal that was refused, by the causes of ``evaluation.refusals``

Shares and findings leave out some principals, and findings that are accepted until a day; the
tables keep all of it, and the output says how much is left out.

It has those of earlier runs too. A finding about a grant for which the evidence is not enough any
more is neither new nor gone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.evaluation import refusals
from doorkeeper_pipeline.evaluation.severity import BROAD
from doorkeeper_pipeline.tables import contents

SAFE, DECIDE = "SAFE", "DECIDE"

KEPT: Final = dt.timedelta(days=100)
"""So long the table has a finding that is gone."""

FIELDS: Final = ("operation", "resource_type", "resource_name", "pattern_type", "host")
SOURCES: Final = {
    "grant_usage": (
        *("binding_id", "principal", *FIELDS, "permission_type", "uses", "decisive_uses"),
        *("verdict", "rule", "why", "severity", "opens"),
    ),
    "overbroad_grants": ("binding_id", "proposal"),
    "denied": (
        *("principal", "operation", "resource_type", "resource_name", "probe", "count", "hosts"),
        *("denied_by", "cause", "rhythm"),
    ),
}
"""The gold tables that findings are made of, and the columns for that."""


class Cause(NamedTuple):
    """A cause: its action, what a group of such findings says, and what to do.

    ``severity`` is that of refusals; a grant has its own. ``asks``: the reason of the findings is a
    question. ``together``: one answer is for all principals, so that they are one group.
    """

    action: str
    text: str
    advice: str
    severity: str = ""
    asks: bool = False
    together: bool = False


_GRAVE: Final = ("NO_LOGIN", "ADMINISTRATION", "PROBING")
"""Causes of refusals that may be somebody who should not be there."""

CAUSES: Final = {
    "broad": Cause(DECIDE, "{grants} far-reaching: {why}", "narrow it, or accept it"),
    "host": Cause(
        DECIDE,
        "{grants} for a host that no client has",
        "write another host, or remove it",
        asks=True,
    ),
    "renamed": Cause(
        DECIDE, "{grants} unused, perhaps under another name", "ask its owner", asks=True
    ),
    "refused": Cause(DECIDE, "{grants} unused, and often refused", "ask its owner", asks=True),
    "deny-first": Cause(
        DECIDE, "{grants} overridden by a DENY", "check whether the DENY is permanent", asks=True
    ),
    "cluster-first": Cause(
        DECIDE,
        "{grants} unused beside one on the cluster",
        "keep the narrower one, if it is enough",
        asks=True,
    ),
    "unknown-age": Cause(
        DECIDE,
        "{grants} unused, of unknown age",
        "give an earlier listing: run --acls FILE@DATE",
        asks=True,
        together=True,
    ),
    "wide": Cause(
        DECIDE, "{grants} wider than their use", "see propose --method overbroad", together=True
    ),
    **{
        cause.name.lower().replace("_", "-"): Cause(
            DECIDE,
            f"refused {{decisions}}, {cause.word}",
            cause.advice,
            severity="MEDIUM" if cause.name in _GRAVE else "LOW",
        )
        for cause in refusals.CAUSES
        if cause.name in refusals.TO_DECIDE
    },
    "unused": Cause(SAFE, "{grants} unused", "remove"),
    "dormant": Cause(SAFE, "{grants} unused, and no request at all", "remove"),
}
"""All causes; of groups of one severity and size the first come first."""


_FOUND: Final = (*("finding_id", "cause", "principal", "severity", "subject", "why", "decisions"),)


class Found(NamedTuple):
    """The findings of a run, and the ids of those that the evidence says nothing about."""

    rows: pl.DataFrame
    undecided: frozenset[str]


def search(tables: Mapping[str, pl.DataFrame]) -> Found:
    """Return what the tables ``SOURCES`` show."""
    is_allow = pl.col("permission_type") == "ALLOW"
    usage = tables["grant_usage"].filter(is_allow | (pl.col("rule") == "host"))
    grants = usage.group_by("principal").agg(pl.len().cast(pl.Int64).alias("grants"))
    rows = pl.concat([_of_grants(usage, tables["overbroad_grants"]), _refusals(tables["denied"])])
    actions = {name: cause.action for name, cause in CAUSES.items()}
    rows = rows.join(grants, on="principal", how="left", maintain_order="left").with_columns(
        pl.col("grants").fill_null(0),
        action=pl.col("cause").replace_strict(actions, return_dtype=pl.String),
    )
    held = usage.filter(pl.col("verdict") == "NOT_ENOUGH_EVIDENCE")["binding_id"]
    overbroad = tables["overbroad_grants"]
    # Without evidence a wide grant has no narrower ones, and is as wide as before.
    wide = overbroad.filter(pl.col("proposal").list.len() == 0)["binding_id"]
    undecided = {f"{kind}:{binding_id}" for kind in ("unused", "wide") for binding_id in held}
    return Found(rows, frozenset(undecided.union(f"wide:{binding_id}" for binding_id in wide)))


def follow(before: pl.DataFrame, findings: Found, at: dt.datetime) -> pl.DataFrame:
    """Return the table after a run that began at a time; ``before`` is that of the last one.

    A finding that comes back is open again, with the time at which it was seen first.
    """
    known = before.select("finding_id", "first_seen")
    now = findings.rows.join(known, on="finding_id", how="left").with_columns(
        pl.col("first_seen").fill_null(at), gone=pl.lit(None, pl.Datetime("us", "UTC"))
    )
    others = before.join(findings.rows, on="finding_id", how="anti")
    stays = pl.col("gone").is_null() & pl.col("finding_id").is_in(sorted(findings.undecided))
    others = others.with_columns(gone=pl.when(~stays).then(pl.coalesce("gone", pl.lit(at)))).filter(
        stays | (pl.col("gone") > at - KEPT)
    )
    frames = [contents.as_frame("findings", frame) for frame in (now, others)]
    return pl.concat(frames).sort("finding_id")


def _of_grants(grants: pl.DataFrame, overbroad: pl.DataFrame) -> pl.DataFrame:
    verdict = pl.col("verdict")
    narrower = overbroad.filter(pl.col("proposal").list.len() > 0)["binding_id"]
    is_wide = pl.col("binding_id").is_in(narrower.implode())
    cause = (
        pl.when((verdict == "REMOVE") & (pl.col("rule") == "dormant"))
        .then(pl.lit("dormant"))
        .when(verdict == "REMOVE")
        .then(pl.lit("unused"))
        .when(verdict == "ASK")
        .then("rule")
        .when(pl.col("severity").is_in(BROAD))
        .then(pl.lit("broad"))
        .when((verdict == "KEEP") & is_wide)
        .then(pl.lit("wide"))
    )
    is_kept = pl.col("cause").is_in(["broad", "wide"])
    kind = pl.when(is_kept).then("cause").otherwise(pl.lit("unused"))
    return (
        grants.with_columns(cause=cause)
        .filter(pl.col("cause").is_not_null())
        .with_columns(
            pl.concat_str(kind, pl.lit(":"), "binding_id").alias("finding_id"),
            subject_of(pl.col("pattern_type"), pl.col("host")),
            pl.when(is_kept).then("opens").otherwise("why").alias("why"),
            pl.col("uses").alias("decisions"),
        )
        .select(*_FOUND)
    )


def _refusals(denied: pl.DataFrame) -> pl.DataFrame:
    literal = subject_of(pl.lit("LITERAL"), pl.lit("*"))
    severities = {name: cause.severity for name, cause in CAUSES.items()}
    return (
        denied.filter(pl.col("cause").is_in(refusals.TO_DECIDE))
        .with_columns(literal)
        .sort(["count", "subject"], descending=[True, False])
        .group_by("cause", "principal", maintain_order=True)
        .agg(
            pl.col("subject", "rhythm").first(),
            pl.col("count").sum().alias("decisions"),
        )
        .with_columns(
            REFUSAL_ID.alias("finding_id"),
            pl.col("cause").str.to_lowercase().str.replace_all("_", "-", literal=True),
            pl.col("rhythm").fill_null("").alias("why"),
        )
        .with_columns(severity=pl.col("cause").replace_strict(severities, return_dtype=pl.String))
        .select(*_FOUND)
    )


def subject_of(pattern: pl.Expr, host: pl.Expr) -> pl.Expr:
    """Return operation and resource in a few words; a prefix ends with a star."""
    star = pl.when(pattern == "PREFIXED").then(pl.lit("*")).otherwise(pl.lit(""))
    from_host = (
        pl.when(host == "*").then(pl.lit("")).otherwise(pl.concat_str(pl.lit(" from "), host))
    )
    words = ("operation", pl.lit(" on "), "resource_type", pl.lit(" "), "resource_name")
    return pl.concat_str(*words, star, from_host).alias("subject")


OF_BINDINGS: Final = ("broad", "unused", "wide")
"""The kinds of findings about an ACL: the id of one is its kind, a colon and the ACL's id."""

REFUSAL_ID: Final = pl.format("refused:{}:{}", "cause", "principal")

_IDS: Final = {
    "findings": pl.col("finding_id"),
    "denied": REFUSAL_ID,
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
    findings = gone["findings"].filter(kind.is_in(OF_BINDINGS), pl.col("gone").is_null())
    held = gone["grant_usage"].filter(pl.col("verdict") == "NOT_ENOUGH_EVIDENCE")
    acls = pl.concat(
        [
            findings.select("left_out", binding.alias("binding_id")),
            held.select("left_out", "binding_id"),
        ]
    )
    numbers = {
        "refusal": refusals.group_by("left_out").agg(pl.col("count").sum()),
        "ACL": acls.unique().group_by("left_out").agg(pl.len().alias("count")),
    }
    counts = {unit: dict(frame.iter_rows()) for unit, frame in numbers.items()}
    for why in sorted({*counts["refusal"], *counts["ACL"], *map(_excluded, principals)}):
        amounts = [amount(those[why], unit) for unit, those in counts.items() if why in those]
        yield f"{why}: {', '.join(amounts) or 'nothing, for it has no finding'}"


def _excluded(principal: str) -> str:
    return f"left out, as asked, of {principal}"
