"""Why accesses were refused, and what to do about it: one table of causes.

A refusal has the first cause of the table ``CAUSES`` that applies. Only a missing grant has a
command: elsewhere a grant would not help, or nobody knows yet whether it should be given.

The log has lines, and no intentions: that somebody probes is inferred from how many names it asks
for, so that the advice is to ask.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import Final, NamedTuple

import polars as pl

from doorkeeper.acls.model import ANONYMOUS, AclBinding, AclPermissionType
from doorkeeper_pipeline.amounts import amount

MANY: Final = 20
"""Names of one principal, or its questions of one minute, from which on it is said to probe."""

_ROUNDS_MIN: Final = 3
_SAME: Final = 0.8
"""The share of the names of a beat that must end in the same minute."""

_HOUR_MIN: Final = 60
_QUARTER_MIN: Final = 15


class Cause(NamedTuple):
    """A cause: its name in the table ``denied``, a word and an advice for people.

    ``helps``: the smallest grant that would allow it may be offered.
    ``applies`` is a condition on the rows of ``with_causes``.
    """

    name: str
    word: str
    advice: str
    applies: pl.Expr
    helps: bool = False


_IS_OPEN: Final = pl.col("reason").is_in(["NO_ACL", "UNKNOWN"]) & ~pl.col("probe")
_IS_ANONYMOUS: Final = pl.col("principal") == str(ANONYMOUS)
_IS_ADMINISTRATION: Final = (pl.col("resource_type") == "CLUSTER") & pl.col("operation").is_in(
    ["ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION"]
)
# A line of an old release does not name the request.
_COMES_FIRST: Final = (pl.col("operation") == "DESCRIBE") & (
    (
        (pl.col("resource_type") == "TOPIC")
        & pl.col("apis").list.eval(pl.element() == "Metadata").list.all()
    )
    | (
        pl.col("resource_type").is_in(["GROUP", "TRANSACTIONAL_ID"])
        & pl.col("apis").list.eval(pl.element() == "FindCoordinator").list.all()
    )
)

CAUSES: Final = (
    Cause(
        "ASKED_ONLY",
        "only asked",
        "the client only queried its permissions: nothing to do",
        pl.col("probe"),
    ),
    Cause(
        "ALLOWED_NOW",
        "allowed now",
        "the ACLs allow it now. If it is refused again, they are not those of the brokers",
        pl.col("reason") == "ALLOWED_NOW",
    ),
    Cause(
        "NO_LOGIN",
        "no login",
        "the client is not authenticated: configure security.protocol and credentials; an ACL for"
        f" {ANONYMOUS} would apply to everyone who can reach the port",
        _IS_ANONYMOUS,
    ),
    Cause(
        "DENY",
        "a DENY",
        "a DENY applies, which no ALLOW overrides: ask who created it",
        pl.col("reason") == "DENY",
    ),
    Cause(
        "ADMINISTRATION",
        "administration",
        "only administrators and brokers need this; with ALTER on the cluster a principal can"
        " grant itself everything. Ask its owner for the purpose",
        _IS_ADMINISTRATION,
    ),
    Cause(
        "PROBING",
        "probing",
        "a tool that lists everything, a scan, or an application that lost its ACL on a prefix:"
        " ask its owner before granting anything",
        pl.col("is_many"),
    ),
    Cause(
        "DESCRIBE_FIRST",
        "DESCRIBE only",
        "clients check DESCRIBE first; the operation they need next, such as READ or WRITE, is"
        " not in the log. Ask its owner, and grant that operation, which includes DESCRIBE",
        _COMES_FIRST,
    ),
    Cause(
        "NO_GRANT",
        "no grant at all",
        "a new application, a known one with another name, or an intruder: find out who it is",
        ~pl.col("has_grant"),
    ),
    Cause(
        "MISSING_GRANT",
        "missing grant",
        "an ACL would allow it; decide whether it should",
        pl.lit(value=True),
        helps=True,
    ),
)
"""The causes in their order: the first that applies is the one of a refusal."""

TO_DECIDE: Final = tuple(
    cause.name for cause in CAUSES if cause.name not in ("ASKED_ONLY", "ALLOWED_NOW", "DENY")
)
"""Causes about which somebody has to decide; the others work as they were meant to."""


def with_causes(refusals: pl.DataFrame, bindings: Collection[AclBinding]) -> pl.DataFrame:
    """Add ``cause``, ``rhythm`` and ``advice`` to the rows of the table ``denied``.

    ``bindings`` are those in force; without any, nothing is known about who has a grant.
    """
    granted = {
        binding.entry.principal
        for binding in bindings
        if binding.entry.permission_type is AclPermissionType.ALLOW
    }
    has_grant = pl.col("principal").is_in(sorted(granted)) if bindings else pl.lit(value=True)
    rows = refusals.join(
        _rhythms(refusals), on="principal", how="left", maintain_order="left"
    ).with_columns(
        has_grant.alias("has_grant"), (_IS_OPEN & pl.col("rhythm").is_not_null()).alias("is_many")
    )
    first_cause = pl.coalesce(pl.when(cause.applies).then(pl.lit(cause.name)) for cause in CAUSES)
    advice = pl.col("cause").replace_strict(
        {cause.name: cause.advice for cause in CAUSES}, return_dtype=pl.String
    )
    is_probing = pl.col("cause") == "PROBING"
    return (
        rows.with_columns(first_cause.alias("cause"))
        .with_columns(
            advice.alias("advice"), pl.when(is_probing).then("rhythm").fill_null("").alias("rhythm")
        )
        .drop("has_grant", "is_many")
    )


def _rhythms(refusals: pl.DataFrame) -> pl.DataFrame:
    """Return the principals that ask for many names or much at once, with how they do in words."""
    asking = refusals.filter(_IS_OPEN & ~_IS_ANONYMOUS & ~_IS_ADMINISTRATION)
    every = asking.group_by("principal").agg(
        pl.struct("resource_type", "resource_name").n_unique().alias("names"),
        pl.col("first_ts").min(),
        pl.col("last_ts").max(),
    )
    begin, end = (pl.col(name).dt.truncate("1m") for name in ("first_ts", "last_ts"))
    largest = (
        asking.group_by("principal", begin.alias("begin"))
        .agg(pl.len().alias("at_once"))
        .sort("at_once", "begin", descending=[True, False])
        .unique("principal", keep="first", maintain_order=True)
    )
    many = every.join(largest, on="principal").filter(
        (pl.col("names") >= MANY) | (pl.col("at_once") >= MANY)
    )
    most = (
        asking.with_columns(begin.alias("begin"))
        .join(many.select("principal", "begin"), on=["principal", "begin"], how="semi")
        .group_by("principal")
        .agg(
            end.mode().min().alias("end"),
            end.value_counts().struct.field("count").max().alias("same_end"),
            pl.col("rounds").median(),
        )
    )
    joined = many.join(most, on="principal")
    words = [_words(**row) for row in joined.drop("principal").iter_rows(named=True)]
    return joined.select("principal").with_columns(pl.Series("rhythm", words, pl.String))


def _words(
    *,
    names: int,
    first_ts: dt.datetime,
    last_ts: dt.datetime,
    at_once: int,
    begin: dt.datetime,
    end: dt.datetime,
    same_end: int,
    rounds: float,
) -> str:
    """Return how a principal asks for names: in how much time, and the most within one minute.

    ``begin``, ``end`` and ``rounds`` are those of the questions of that minute; ``same_end`` is how
    many of them ended in the same minute too.
    """
    asked = amount(names, "name")
    if at_once < MANY:
        return f"{asked} in {amount((last_ts - first_ts).days + 1, 'day')}"
    is_beat = rounds >= _ROUNDS_MIN and same_end >= _SAME * at_once
    if not is_beat or end <= begin:
        return f"{asked}, {at_once:,} questions within a minute"
    minutes = (end - begin).total_seconds() / 60 / (rounds - 1)
    return f"{asked} at once, about every {_length(minutes)}{_places(begin, minutes)}"


def _length(minutes: float) -> str:
    for unit, size in (("day", 1_440), ("hour", _HOUR_MIN), ("minute", 1)):
        count = round(minutes / size)
        # Two digits are enough of a mean: 36 hours are not two days.
        if count >= 1 and abs(count * size - minutes) <= minutes / 20:
            return f"{count:,} {unit}s" if count > 1 else unit
    return f"{max(round(minutes * 60), 1)} seconds"


def _places(begin: dt.datetime, minutes: float) -> str:
    """Return the minutes of the hour of a beat that has few of them."""
    beat = round(minutes)
    if beat < _QUARTER_MIN or _HOUR_MIN % beat or abs(minutes - beat) > beat / 100:
        return ""
    minutes_past = sorted((begin.minute + at) % _HOUR_MIN for at in range(0, _HOUR_MIN, beat))
    *others, last = (f":{minute:02}" for minute in minutes_past)
    return f", at {', '.join(others)} and {last}" if others else f", at {last}"
