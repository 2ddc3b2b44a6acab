"""Who was refused what."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import polars as pl

from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.jobs.causes import LeftOut
from doorkeeper_pipeline.report.model import About, Commands, Names, Share, Tag
from doorkeeper_pipeline.report.refusals import refusals_of
from testkit.report_tables import table_of

ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_denials_by_cause() -> None:
    deny: dict[str, Any] = {
        "resource_type": "TOPIC",
        "resource_name": "t",
        "pattern_type": "LITERAL",
        "principal": "User:*",
        "host": "*",
        "operation": "READ",
        "permission_type": "DENY",
        "decisive_uses": 7,
    }
    text = text_of(*bindings_of(pl.DataFrame([deny])))
    shut = {"cause": "DENY", "denied_by": text, "advice": "ask."}
    lacking = {"cause": "MISSING_GRANT", "advice": "decide."}
    denied = [
        {"principal": "User:a", "count": 10, "resource_name": "x", **lacking},
        {"principal": "User:a", "count": 5, "resource_name": "y", **lacking},
        {"principal": "User:c", "count": 5, "resource_name": "y", **lacking},
        {"principal": "User:b", "count": 50, **shut},
        {"principal": "User:a", "count": 30, **shut},
        {"principal": "User:ANONYMOUS", "count": 1, "cause": "NO_LOGIN", "advice": "log in."},
        {"principal": "User:ui", "count": 9000, "cause": "PROBING", "rhythm": "80 names"},
    ]
    frames = {
        "denied": table_of("denied", denied),
        "grant_usage": table_of("grant_usage", [deny]),
    }

    rows = refusals_of(frames, ABOUT).tables[0].rows

    assert [(word_of(row[0]), row[1], row[2], row[3], row[4], row[5]) for row in rows] == [
        ("no login", Share(1, 1), Names(("User:ANONYMOUS",), 1), 1, advice("log in."), None),
        ("a DENY", Share(80, 80), Names(("User:a", "User:b"), 2), 1, advice(f"{text}. ask."), 7),
        ("probing", Share(9000, 9000), Names(("User:ui",), 1), 1, advice("80 names"), None),
        ("missing grant", Share(15, 20), Names(("User:a",), 1), 2, advice("decide."), None),
        ("missing grant", Share(5, 20), Names(("User:c",), 1), 1, advice("decide."), None),
    ]


def test_advice_for_denials() -> None:
    denied = [
        {"count": 3, "cause": "MISSING_GRANT", "command": "add", "grant_text": "READ on t"},
        {"count": 2, "cause": "MISSING_GRANT", "grant_text": "READ on a\nb"},
        {"count": 1, "cause": "PROBING", "rhythm": "80 names", "advice": "ask."},
    ]

    rows = refusals_of({"denied": table_of("denied", denied)}, ABOUT).tables[1].rows

    assert [row[-1] for row in rows] == [
        Commands("grant", ("add",), "READ on t"),
        Commands("no command can name it", (), "READ on a\nb"),
        advice("80 names. ask."),
    ]


def test_tables_of_an_earlier_release() -> None:
    """They have no cause and no advice; the refusals are shown all the same."""
    earlier = table_of("denied", [{"count": 1, "reason": "NO_ACL"}]).with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("cause", "rhythm", "advice")
    )

    causes, hot_spots = refusals_of({"denied": earlier}, ABOUT).tables

    assert [(word_of(row[0]), row[4]) for row in causes.rows] == [("unknown", None)]
    assert [row[-1] for row in hot_spots.rows] == [None]


def test_excluded_and_accepted_denials() -> None:
    lacking = {"cause": "MISSING_GRANT", "advice": "decide."}
    denied = [
        {"principal": "User:a", "count": 10, **lacking},
        {"principal": "User:b", "count": 30, **lacking},
        {"principal": "User:b", "count": 5, "probe": True, **lacking},
        {"principal": "User:c", "count": 1, **lacking},
    ]
    accepted = {"refused:MISSING_GRANT:User:c": date(2027, 1, 31)}
    about = replace(ABOUT, left_out=LeftOut(("User:b",), accepted))

    section = refusals_of({"denied": table_of("denied", denied)}, about)

    causes, hot_spots = section.tables
    assert [(row[1], row[4]) for row in causes.rows] == [
        (Share(10, 11), advice("decide.")),
        (Share(1, 11), Commands("accepted until 31 Jan 2027", (), "decide.")),
    ]
    assert [row[1] for row in hot_spots.rows] == ["User:a", "User:c"]
    assert section.lead == (
        "11 refusals come down to 2 combinations of principal, operation and resource.",
        "Left out, as asked: User:b, with 30 refusals.",
    )


def word_of(value: object) -> str:
    """Return the word of a tag."""
    assert isinstance(value, Tag)
    return value.word


def advice(text: str) -> Commands:
    """Return a cell with an advice."""
    return Commands("advice", (), text)
