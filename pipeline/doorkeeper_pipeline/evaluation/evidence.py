"""Whether a history is enough evidence for recommendations, and its shortcomings.

To remove an ACL because no request used it is right only if the history is long, whole, and of the
cluster whose ACLs are given. Each shortcoming is named with its probable cause and its remedy.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from doorkeeper.acls.decision import Policy, RuleKind
from doorkeeper_pipeline.amounts import amount, first
from doorkeeper_pipeline.bindings import word
from doorkeeper_pipeline.evaluation.collection import Collection, lost_lines, unchecked
from doorkeeper_pipeline.evaluation.unread import nothing_proposed

LISTED_MAX = 5
FUTURE = dt.timedelta(minutes=5)
"""Clocks differ; a decision that is later than this is a mistake."""

NOTHING_ALLOWED = "the history has no allowed decisions, so it cannot show who would lose access"
"""In place of a number of decisions that a set of ACLs would forbid: it would be 0 for any set."""

_MORE = "..."
_DAY_S = 86_400
_ALMOST_ALL = 99.95
_ROUNDING = 1e-6
_MOSTLY = 0.9
"""If more of the named ACLs than this are unknown, they are of another cluster, not outdated."""

_SUPER_USER, _MATCHING_ACL = RuleKind.SUPER_USER.value, RuleKind.MATCHING_ACL.value
_DEFAULT_ALLOW, _DEFAULT_DENY = RuleKind.DEFAULT_ALLOW.value, RuleKind.DEFAULT_DENY.value

Row = dict[str, Any]
"""A row of the table agreement."""


class Thresholds(NamedTuple):
    """The thresholds of recommendations: days of history, percent of agreement, percent of days.

    ``brokers`` is how many servers write a log of their own; 0 if that is not known.
    ``start_days`` are those of operations that a client asks for when it starts, or when it creates
    something. A job at the end of each month has 31 days between its runs, and some of slack.
    """

    days: float = 35
    agreement: float = 99
    coverage: float = 90
    brokers: int = 0
    start_days: float = 92

    def lowered(self) -> tuple[str, ...]:
        """Return a line for each limit that is below the usual one."""
        return tuple(
            f"{option} {value:g} is below {usual:g}"
            for option, value, usual in zip(_OPTIONS, self, DEFAULT_THRESHOLDS, strict=True)
            if value < usual
        )


_OPTIONS = ("--min-days", "--min-agreement", "--min-coverage", "--brokers", "--min-start-days")
DEFAULT_THRESHOLDS = Thresholds()
NO_THRESHOLDS = Thresholds(*(0,) * len(Thresholds._fields))


class BrokerLog(NamedTuple):
    """The log of a broker or controller: the path of its newest file, and the days that it covers.

    A day without allowed decisions is not covered: at INFO the log has refusals only. ``is_node``:
    it is the audit log of a node of Doorkeeper, whose name stands for the path.
    """

    path: str
    days: frozenset[dt.date]
    is_node: bool = False


class Observed(NamedTuple):
    """A history in numbers: decisions, allowed ones, the first and last time, and its days.

    It begins with the first decision that was allowed, if any was, and its days are those with
    such decisions. ``refused_from`` is the time of the first one, if earlier days have refusals
    only.
    A decision later than ``now`` has a wrong time; None for no such check. ``logs`` are None where
    decisions do not say which broker took them. ``collection`` says what shows whether these have
    all lines.
    """

    decisions: int
    allowed: int
    first: dt.datetime | None
    last: dt.datetime | None
    days: frozenset[dt.date]
    has_acls: bool
    now: dt.datetime | None = None
    logs: tuple[BrokerLog, ...] | None = None
    refused_from: dt.datetime | None = None
    collection: Collection = Collection()

    @property
    def brokers(self) -> int | None:
        """Return the number of Kafka's logs; None where the decisions are not of such logs."""
        is_other = self.logs is None or any(log.is_node for log in self.logs)
        return None if is_other else len(self.logs or ())

    @property
    def span_days(self) -> float:
        """Return the time from the first decision to the last, in days."""
        if self.first is None or self.last is None:
            return 0
        return (self.last - self.first).total_seconds() / _DAY_S

    @property
    def ends_in_the_future(self) -> bool:
        """Say whether the last decision is later than now; clocks differ a little."""
        return self.now is not None and self.last is not None and self.last > self.now + FUTURE

    @property
    def missing_days(self) -> list[dt.date]:
        """Return the days (UTC) between the first and the last that have no decision."""
        return self.days_without(self.days)

    def days_without(self, days: frozenset[dt.date]) -> list[dt.date]:
        """Return the days between the first and the last that are not among these."""
        if self.first is None or self.last is None:
            return []
        calendar = range(self.first.toordinal(), self.last.toordinal() + 1)
        return [day for day in map(dt.date.fromordinal, calendar) if day not in days]

    @property
    def gaps(self) -> tuple[frozenset[dt.date], ...]:
        """Return the days that are not covered: by all logs together, and by each of several."""
        together = frozenset(self.missing_days).union(self.collection.thin)
        logs = self.logs or ()
        of_each = logs if len(logs) > 1 else ()
        return together, *(frozenset(self.days_without(log.days)) for log in of_each)

    @property
    def coverage(self) -> float:
        """Return the percentage of days that have decisions."""
        missing = len(self.missing_days)
        return 100 * len(self.days) / (len(self.days) + missing) if self.days else 0


class Evidence(NamedTuple):
    """The evidence in a history.

    ``agreement`` is the percentage of decisions that have the recorded outcome, and whose recorded
    ACL was given; None without ACLs. ``causes`` are contradictions with their remedy. ``lacking``
    says why nothing is recommended; it is empty if the evidence is enough. ``doubtful`` are the
    principals with a decision that contradicts the ACLs: for them nothing is recommended either.
    ``lost_lines`` is the one of ``lacking`` that lines of the log are missing, or empty,
    ``unchecked`` what could not be checked, or empty. ``contradicts``: log, ACLs and options do not
    belong together as they were given.
    """

    observed: Observed
    agreement: float | None
    causes: tuple[str, ...]
    lacking: tuple[str, ...]
    contradicts: bool
    doubtful: frozenset[str] = frozenset()
    lost_lines: str = ""
    unchecked: str = ""

    def summary(self) -> str:
        """Return the time, the coverage and the agreement in a line."""
        observed = self.observed
        days, all_days = len(observed.days), len(observed.days) + len(observed.missing_days)
        agree = (
            "no ACLs were given for comparison"
            if self.agreement is None
            else f"{_percent(self.agreement)} agree with the ACLs"
        )
        logs = len(observed.logs or ())
        where = f", in {amount(logs, 'log')}" if logs else ""
        return (
            f"{observed.decisions:,} decisions in {duration(observed.span_days)},"
            f" on {days:,} of {all_days:,} days{where}; {agree}"
        )


NO_DOUBT = Evidence(
    Observed(0, 0, None, None, frozenset(), has_acls=True), None, (), (), contradicts=False
)
"""Evidence that holds back nothing."""


def evidence_of(
    observed: Observed, rows: Sequence[Row], policy: Policy, thresholds: Thresholds
) -> Evidence:
    """Return the evidence in a history; rows are those of the table agreement."""
    if not observed.has_acls:
        rows = ()
    count = sum(row["count"] for row in rows)
    share = 100 * sum(map(_agreeing, rows)) / count if count else 0.0
    contradictions = _contradictions(rows, policy)
    wrong, others = tuple(_wrong_policy(contradictions)), tuple(_causes(rows, contradictions))
    is_untold = observed.has_acls and not observed.allowed
    agreement = share if observed.has_acls else None
    days = len(observed.days)
    all_days = days + len(observed.missing_days)
    lost = tuple(
        lost_lines(observed.collection, days, all_days, observed.span_days, thresholds.coverage)
    )
    is_checked = observed.brokers is None or not observed.has_acls
    return Evidence(
        observed,
        agreement,
        (*_observed_causes(observed), *wrong, *others),
        (*_lacking(observed, agreement, thresholds, wrong_policy=bool(wrong)), *lost),
        contradicts=bool(
            not observed.decisions or observed.ends_in_the_future or is_untold or wrong or others
        ),
        doubtful=frozenset(row["principal"] for row in rows if _agreeing(row) < row["count"]).union(
            row["principal"] for row in contradictions.needless_super_users
        ),
        lost_lines=next(iter(lost), ""),
        unchecked="" if is_checked else unchecked(observed.collection, observed.span_days),
    )


def _agreeing(row: Row) -> int:
    """Return how many decisions of a row follow from the ACLs that were given.

    A wide ACL of another cluster leads to the same outcomes: the named ACLs tell them apart.
    """
    count: int = min(row["agreeing"], row["count"] - row["unlisted"])
    return count


def uncovered_since(observed: Observed, thresholds: Thresholds) -> Callable[[dt.date], str]:
    """Return a function that says how much of the log is missing from a day on; '' if it is little.

    A long history may cover enough days as a whole, and hardly any of those since a grant was
    given.
    """

    @cache
    def uncovered(since: dt.date) -> str:
        all_days = 0 if observed.last is None else (observed.last.date() - since).days + 1
        if all_days <= 0:
            return ""  # no day of the history is about it, as its age says
        worst = max(sum(day >= since for day in days) for days in observed.gaps)
        if 100 * (all_days - worst) >= thresholds.coverage * all_days:
            return ""
        return (
            f"since {since} the log covers {all_days - worst:,} of {all_days:,} days; required:"
            f" {thresholds.coverage:g}% (--min-coverage)"
        )

    return uncovered


def describe_doubt(principals: Iterable[str]) -> Iterator[str]:
    """Yield a line that names doubtful principals; nothing if there are none."""
    return nothing_proposed(principals, "decisions contradict the ACLs")


def duration(days: float) -> str:
    """Return a length of time in its largest unit of which there are at least two."""
    seconds = days * _DAY_S
    for unit, size in (("day", _DAY_S), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds / size):,} {unit}s"
    return f"{int(seconds)} seconds"


def _lacking(
    observed: Observed, share: float | None, thresholds: Thresholds, *, wrong_policy: bool
) -> Iterator[str]:
    if not observed.decisions:
        yield "there are no decisions"
        return
    if not observed.allowed:
        yield "the history has only denied requests, so the use of ACLs is unknown"
    if wrong_policy:
        yield "the super users or --allow-everyone differ from those of the cluster"
    if observed.ends_in_the_future:
        yield "decisions have times in the future"
    if observed.span_days < thresholds.days:
        yield (
            f"the history is {duration(observed.span_days)} long; required: {thresholds.days:g}"
            " days (--min-days)"
        )
    if observed.coverage < thresholds.coverage:
        yield (
            f"{_percent(observed.coverage)} of the days have allowed decisions, and no missing"
            f" lines; required: {thresholds.coverage:g}% (--min-coverage). Other days:"
            f" {first(observed.missing_days)}"
        )
    yield from _lacking_logs(observed, thresholds)
    if share is not None and share < thresholds.agreement:
        yield (
            f"{_percent(share)} of the decisions agree with the given ACLs; required:"
            f" {thresholds.agreement:g}% (--min-agreement)"
        )


def _lacking_logs(observed: Observed, thresholds: Thresholds) -> Iterator[str]:
    """Yield the brokers whose logs are missing, wholly or in part."""
    logs = observed.logs
    if logs is None:
        if thresholds.brokers:
            yield (
                f"--brokers {thresholds.brokers} cannot be checked: decisions of audit topics, and"
                " log lines in a topic, do not say which broker took them; omit --brokers"
            )
        return
    if len(logs) < thresholds.brokers:
        yield (
            f"found {amount(len(logs), 'log')}; required: one for each"
            f" of {thresholds.brokers:,} brokers and controllers (--brokers)"
        )
    if len(logs) < 2:
        return  # its days are those of the history
    all_days = len(observed.days) + len(observed.missing_days)
    for log in logs:
        without = observed.days_without(log.days)
        if 100 * (all_days - len(without)) < thresholds.coverage * all_days:
            yield (
                f"{log.path} has allowed decisions on {all_days - len(without):,} of {all_days:,}"
                f" days; required: {thresholds.coverage:g}% (--min-coverage). Check whether files"
                " of this broker are missing or its logger was at INFO. Days without:"
                f" {first(without)}"
            )


def _observed_causes(observed: Observed) -> Iterator[str]:
    """Yield the explanations that the history shows without ACLs."""
    if not observed.decisions:
        yield (
            "the files contain no decisions; check that they are logs of the authorizer and that"
            " its logger is enabled"
        )
    if observed.refused_from is not None:
        yield (
            f"from {observed.refused_from:%Y-%m-%d} to the first allowed decision on"
            f" {observed.first:%Y-%m-%d}, the log has only denied requests, as at level INFO; the"
            " history begins with that decision"
        )
    if observed.ends_in_the_future:
        yield (
            f"the last decision is of {observed.last:%Y-%m-%d %H:%M} UTC, which is in the future;"
            " check --zone and the clocks of the brokers"
        )
    if observed.decisions and not observed.allowed:
        yield (
            "the log has only denied requests, as at level INFO; set kafka.authorizer.logger to"
            " DEBUG on all brokers and controllers"
        )


class _Contradictions(NamedTuple):
    """Rows whose rules contradict the options."""

    missing_super_users: list[Row]
    opened: list[Row]
    shut: list[Row]
    needless_super_users: list[Row]


def _contradictions(rows: Sequence[Row], policy: Policy) -> _Contradictions:
    supers, everyone = policy.super_users, policy.allow_everyone
    pairs = [(row, row["rule"], row["rule_now"]) for row in rows]
    return _Contradictions(
        [row for row, was, _ in pairs if was == _SUPER_USER and row["principal"] not in supers],
        [row for row, was, _ in pairs if was == _DEFAULT_ALLOW and not everyone],
        [row for row, was, now in pairs if was == _DEFAULT_DENY and now == _DEFAULT_ALLOW],
        [row for row, was, now in pairs if now == _SUPER_USER and was not in ("", _SUPER_USER)],
    )


def _wrong_policy(contradictions: _Contradictions) -> Iterator[str]:
    """Yield the options that the recorded rules prove to be wrong: one decision is enough."""
    if missing := contradictions.missing_super_users:
        options = " ".join(
            principal
            if principal == _MORE
            else f"--super-user {word(principal) or ascii(principal)}"
            for principal in _principals(missing)
        )
        yield (
            f"{_were(missing)} allowed to super users that were not given. If super.users of the"
            f" brokers contains them, add {options}"
        )
    if contradictions.opened:
        yield (
            f"{_were(contradictions.opened)} allowed because the resource has no ACL"
            " (allow.everyone.if.no.acl.found): add --allow-everyone"
        )
    if contradictions.shut:
        yield f"{_were(contradictions.shut)} denied without an ACL: remove --allow-everyone"


def _causes(rows: Sequence[Row], contradictions: _Contradictions) -> Iterator[str]:
    """Yield the explanations of other contradictions, each with its remedy."""
    if extra := contradictions.needless_super_users:
        yield (
            f"{_count(extra)} of {', '.join(_principals(extra))} {_be(extra)} decided by ACLs,"
            " although it is given as a super user"
        )
    yield from _other_acls(rows)
    yield from _rest(rows, {id(row) for those in contradictions for row in those})


def _other_acls(rows: Sequence[Row]) -> Iterator[str]:
    named, unlisted = 0, 0
    for row in rows:
        if row["rule"] == _MATCHING_ACL:
            named += row["count"]
            unlisted += row["unlisted"]
    if not unlisted:
        return
    if unlisted > _MOSTLY * named:
        yield (
            f"{unlisted:,} of {named:,} decisions name an ACL that is not in the given set; it is"
            " probably from another cluster or time"
        )
    else:
        yield (
            f"{unlisted:,} of {named:,} decisions name an ACL that is not in the given set; ACLs"
            " were removed, the listing is outdated, or some logs are from another cluster"
        )


def _rest(rows: Sequence[Row], explained: set[int]) -> Iterator[str]:
    """Yield the other contradictions, by the principals with most of them."""
    for outcome, text in (
        ("ALLOWED", "allowed, but the given ACLs deny them"),
        ("DENIED", "denied, but the given ACLs allow them"),
    ):
        left = [
            {**row, "count": row["count"] - row["agreeing"]}
            for row in rows
            if row["outcome"] == outcome != row["outcome_now"] and id(row) not in explained
        ]
        left = [row for row in left if row["count"]]
        if left:
            yield (
                f"{_were(left)} {text}; the ACLs may have changed since, or be from another time."
                f" Principals: {', '.join(_principals(left))}"
            )


def _principals(rows: Iterable[Row]) -> list[str]:
    """Return the principals with the largest counts."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["principal"]] = counts.get(row["principal"], 0) + row["count"]
    names = sorted(counts, key=lambda name: (-counts[name], name))
    return [*names[:LISTED_MAX], *([_MORE] if len(names) > LISTED_MAX else [])]


def _were(rows: Sequence[Row]) -> str:
    return f"{_count(rows)} {_be(rows)}"


def _be(rows: Iterable[Row]) -> str:
    return "was" if sum(row["count"] for row in rows) == 1 else "were"


def _count(rows: Iterable[Row]) -> str:
    return amount(sum(row["count"] for row in rows), "decision")


def _percent(share: float) -> str:
    """Return a percentage, rounded down; it says 100 or 0 only if it is that."""
    if _ALMOST_ALL <= share < 100:
        return "over 99.9%"
    # The product of 10 and 99.7 is a little less than 997.
    tenths = math.floor(10 * share + _ROUNDING)
    return f"{tenths / 10:g}%" if tenths or not share else "under 0.1%"
