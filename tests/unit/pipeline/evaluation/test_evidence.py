"""When a history is enough for recommendations, and what its contradictions are called."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.evaluation.evidence import (
    DEFAULT_THRESHOLDS,
    NO_THRESHOLDS,
    BrokerLog,
    Observed,
    evidence_of,
    uncovered_since,
)
from doorkeeper_pipeline.jobs.observed import evidence_in

BEGIN = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)


MONTH = DEFAULT_THRESHOLDS._replace(days=30)


def observed(days: int = 31, *, missing: tuple[int, ...] = (), **changed: Any) -> Observed:
    """Return a history that has decisions on each day but some."""
    dates = (BEGIN.date() + dt.timedelta(days=n) for n in range(days) if n not in missing)
    made = Observed(
        decisions=100,
        allowed=90,
        first=BEGIN,
        last=BEGIN + dt.timedelta(days=days - 1),
        days=frozenset(dates),
        has_acls=True,
    )
    return made._replace(**changed)


def row(**changed: Any) -> dict[str, Any]:
    """Return a row of the table agreement; decisions agree if the outcomes are equal."""
    made = {
        "principal": "User:a",
        "outcome": "ALLOWED",
        "rule": "MatchingAcl",
        "outcome_now": "ALLOWED",
        "rule_now": "MatchingAcl",
        "count": 100,
        "unlisted": 0,
        **changed,
    }
    made.setdefault("agreeing", made["count"] * (made["outcome"] == made["outcome_now"]))
    return made


WRONG_OPTIONS = "the super users or --allow-everyone differ from those of the cluster"
DENIED_NOW = {"outcome_now": "DENIED", "rule_now": "DefaultDeny"}
ALLOWED_NOW = {"outcome": "DENIED", "rule": "DefaultDeny"}


def test_sufficient_history() -> None:
    found = evidence_of(observed(), [row()], Policy(), MONTH)

    assert (found.lacking, found.causes, found.contradicts) == ((), (), False)
    assert found.summary() == (
        "100 decisions in 30 days, on 31 of 31 days; 100% agree with the ACLs"
    )


@pytest.mark.parametrize(
    ("history", "rows", "text"),
    [
        (observed(2), [row()], "the history is 24 hours long; required: 30 days"),
        (
            observed(60, missing=tuple(range(10, 30))),
            [row()],
            "66.6% of the days have allowed decisions, and no missing lines; required",
        ),
        (observed(), [row(), row(count=2, **DENIED_NOW)], "98% of the decisions agree"),
        (observed(allowed=0), [row()], "the history has only denied requests"),
        (observed(0, decisions=0, allowed=0, first=None, last=None), [], "there are no decisions"),
    ],
)
def test_insufficient_history_lists_each_reason(
    history: Observed, rows: list[dict[str, Any]], text: str
) -> None:
    found = evidence_of(history, rows, Policy(), MONTH)

    (lacking,) = found.lacking
    assert lacking.startswith(text)


@pytest.mark.parametrize(
    ("rows", "policy", "text"),
    [
        ([row(rule="SuperUser", **DENIED_NOW)], Policy(), "add --super-user User:a"),
        (
            [row(rule_now="SuperUser")],
            Policy(super_users=frozenset({"User:a"})),
            "although it is given as a super user",
        ),
        ([row(rule="DefaultAllow", **DENIED_NOW)], Policy(), "add --allow-everyone"),
        (
            [row(**ALLOWED_NOW, rule_now="DefaultAllow")],
            Policy(allow_everyone=True),
            "remove --allow-everyone",
        ),
        ([row(unlisted=95)], Policy(), "probably from another cluster"),
        ([row(unlisted=5)], Policy(), "ACLs were removed, the listing is outdated"),
        ([row(**DENIED_NOW)], Policy(), "were allowed, but the given ACLs deny them"),
        ([row(**ALLOWED_NOW)], Policy(), "were denied, but the given ACLs allow them"),
    ],
)
def test_contradictions_have_one_cause(
    rows: list[dict[str, Any]], policy: Policy, text: str
) -> None:
    (cause,) = evidence_of(observed(), rows, policy, NO_THRESHOLDS).causes

    assert text in cause


def test_decisions_before_acl_changes_do_not_contradict() -> None:
    found = evidence_of(observed(), [row(agreeing=100, **DENIED_NOW)], Policy(), MONTH)

    assert (found.agreement, found.causes, found.lacking) == (100, (), ())


@pytest.mark.parametrize(
    "rows",
    [
        [row(count=9_999), row(count=1, rule="SuperUser", **DENIED_NOW)],
        [row(count=9_999), row(count=1, rule="DefaultAllow", **DENIED_NOW)],
    ],
)
def test_missing_option_is_detected_from_one_decision(rows: list[dict[str, Any]]) -> None:
    found = evidence_of(observed(), rows, Policy(), MONTH)

    assert found.contradicts
    assert found.lacking == (WRONG_OPTIONS,)


@pytest.mark.parametrize(
    "wrong",
    [
        row(principal="User:b", count=3, unlisted=3),
        row(principal="User:b", count=3, **DENIED_NOW),
        row(principal="User:b", count=3, **ALLOWED_NOW),
    ],
)
def test_contradictions_make_principals_doubtful(wrong: dict[str, Any]) -> None:
    found = evidence_of(observed(), [row(count=860), wrong], Policy(), MONTH)

    assert (found.contradicts, found.lacking) == (True, ())
    assert found.doubtful == {"User:b"}


def test_super_user_decided_by_acls_is_doubtful() -> None:
    rows = [row(rule_now="SuperUser"), row(principal="User:b")]
    policy = Policy(super_users=frozenset({"User:a"}))

    found = evidence_of(observed(), rows, policy, MONTH)

    assert (found.agreement, found.contradicts) == (100, True)
    assert found.doubtful == {"User:a"}


def test_log_of_denials_is_insufficient() -> None:
    refused = observed(allowed=0)

    assert evidence_of(refused, [row(**ALLOWED_NOW)], Policy(), MONTH).contradicts
    without = refused._replace(has_acls=False)
    assert not evidence_of(without, [], Policy(), MONTH).contradicts


def test_future_decisions_are_insufficient() -> None:
    last = observed().last
    assert last is not None
    sooner, later = (last - dt.timedelta(minutes=number) for number in (6, 4))

    found, well = (
        evidence_of(observed(now=now), [row()], Policy(), MONTH) for now in (sooner, later)
    )

    (cause,) = found.causes
    assert cause == (
        "the last decision is of 2026-10-31 12:00 UTC, which is in the future; check --zone and"
        " the clocks of the brokers"
    )
    assert found.lacking == ("decisions have times in the future",)
    assert (found.contradicts, well.contradicts) == (True, False)
    assert (well.causes, well.lacking) == ((), ())


def test_agreement_is_not_checked_without_acls() -> None:
    found = evidence_of(observed(has_acls=False), [], Policy(), MONTH)

    assert (found.agreement, found.contradicts, found.lacking) == (None, False, ())
    assert found.summary().endswith("no ACLs were given for comparison")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([row(count=9_999), row(count=1, **DENIED_NOW)], "over 99.9%"),
        ([row(count=1), row(count=9_999, **DENIED_NOW)], "under 0.1%"),
        ([row(count=860), row(count=3, unlisted=3)], "99.6%"),
    ],
)
def test_percentages_are_not_rounded_to_0_or_100(rows: list[dict[str, Any]], text: str) -> None:
    found = evidence_of(observed(), rows, Policy(), MONTH._replace(agreement=50))

    assert f"; {text} agree" in found.summary()


def brokers(*days: int) -> tuple[BrokerLog, ...]:
    """Return logs with as many days of the history, the last ones."""
    all_days = [BEGIN.date() + dt.timedelta(days=n) for n in range(31)]
    return tuple(BrokerLog(f"/b{n}.log", frozenset(all_days[-d:])) for n, d in enumerate(days, 1))


def test_broker_log_with_gaps_is_insufficient() -> None:
    found = evidence_of(observed(logs=brokers(31, 11)), [row()], Policy(), MONTH)

    assert found.lacking == (
        (
            "/b2.log has allowed decisions on 11 of 31 days; required: 90%"
            " (--min-coverage). Check whether files of this broker are missing or its logger was"
            " at INFO. Days without: 2026-10-01, 2026-10-02, 2026-10-03, 2026-10-04, 2026-10-05,"
            " ..."
        ),
    )
    assert "on 31 of 31 days, in 2 logs; 100% agree" in found.summary()


def test_gaps_count_for_grants_that_came_late() -> None:
    """A year may cover nine days of ten, and none of the last month."""
    history = observed(400, missing=tuple(range(363, 399)))
    of_logs = observed(400)
    late = frozenset(of_logs.days) - {BEGIN.date() + dt.timedelta(days=n) for n in range(363, 400)}
    of_logs = of_logs._replace(logs=(BrokerLog("a", of_logs.days), BrokerLog("b", late)))
    thin = observed(400)
    days = tuple(BEGIN.date() + dt.timedelta(days=n) for n in range(370, 399))
    thin = thin._replace(collection=thin.collection._replace(thin=days))

    for each, covered in ((history, 2), (of_logs, 1), (thin, 9)):
        assert not evidence_of(each, [row()], Policy(), DEFAULT_THRESHOLDS).lacking
        uncovered = uncovered_since(each, DEFAULT_THRESHOLDS)
        assert uncovered(BEGIN.date()) == uncovered(BEGIN.date() + dt.timedelta(days=500)) == ""
        assert uncovered(BEGIN.date() + dt.timedelta(days=362)) == (
            f"since 2027-09-28 the log covers {covered} of 38 days; required: 90% (--min-coverage)"
        )
        assert uncovered_since(each, NO_THRESHOLDS)(days[0]) == ""


def test_number_of_logs_must_match_brokers() -> None:
    needed = MONTH._replace(brokers=3)
    found = evidence_of(observed(logs=brokers(31, 30)), [row()], Policy(), needed)

    assert found.lacking == (
        "found 2 logs; required: one for each of 3 brokers and controllers (--brokers)",
    )
    assert not evidence_of(observed(logs=brokers(31, 31, 30)), [row()], Policy(), needed).lacking
    (unknown,) = evidence_of(observed(logs=None), [row()], Policy(), needed).lacking
    assert unknown.startswith("--brokers 3 cannot be checked: decisions of audit topics")


def days_of(outcome: str, *days: int) -> list[dict[str, Any]]:
    """Return rows of the table days."""
    pairs = {"paired": 0, "unpaired": 0}
    return [
        {"day": at.date(), "outcome": outcome, "count": 9, "first_ts": at, "last_ts": at, **pairs}
        for at in (BEGIN + dt.timedelta(days=day) for day in days)
    ]


def tables_of(days: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
    return {
        "days": pl.DataFrame(days),
        "clients": pl.DataFrame(),
        "agreement": pl.DataFrame([row()]),
    }


def test_history_begins_with_the_first_allowed_decision() -> None:
    refused, allowed = days_of("DENIED", *range(40)), days_of("ALLOWED", *range(34, 40))
    found = evidence_in(tables_of([*refused, *allowed]), Policy(), MONTH, has_acls=True)

    assert found.lacking == ("the history is 5 days long; required: 30 days (--min-days)",)
    assert found.causes == (
        (
            "from 2026-10-01 to the first allowed decision on 2026-11-04, the log has only denied"
            " requests, as at level INFO; the history begins with that decision"
        ),
    )
    assert not found.contradicts
    assert "in 5 days, on 6 of 6 days" in found.summary()


def test_trailing_days_of_denials_are_missing() -> None:
    refused, allowed = days_of("DENIED", *range(60)), days_of("ALLOWED", *range(40))
    found = evidence_in(tables_of([*refused, *allowed]), Policy(), MONTH, has_acls=True)

    [lacking] = found.lacking
    assert lacking.startswith("66.6% of the days have allowed decisions, and no missing")
