"""The use of every grant: the tables grant_usage, unused_grants and overbroad_grants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from doorkeeper.acls.model import WILDCARD_PRINCIPAL
from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.acl_sets import AclSet
from doorkeeper_pipeline.evaluation.evidence import uncovered_since
from doorkeeper_pipeline.evaluation.generated import generated
from doorkeeper_pipeline.evaluation.literals import commands_of, text
from doorkeeper_pipeline.evaluation.overbroad import TOUCHES, Excess, overbroad, touches_of, wide
from doorkeeper_pipeline.evaluation.severity import ClusterContext, Rule, opening_of
from doorkeeper_pipeline.evaluation.unused import (
    KEPT,
    Unused,
    keepers_of,
    rank_bindings,
    shut_by_denies,
    unused_bindings,
)
from doorkeeper_pipeline.evaluation.usage import DETAILS, LISTED_MAX, PARTS, parts_of, sum_uses
from doorkeeper_pipeline.evaluation.verdicts import (
    Grant,
    Judged,
    Known,
    doubt_about,
    judge,
    seen_too_few,
)
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.observed import (
    Brokers,
    Span,
    activity_of,
    brokers_in,
    cluster_first,
    days,
    history,
    logged_in,
    span,
    span_of,
)
from doorkeeper_pipeline.tables import contents

COVERED_BY_MAX = 10
_TIME = pl.Datetime("us", "UTC")
_NOTHING = pl.lit([], pl.List(pl.String))


def grants(asked: GoldInput) -> dict[str, pl.DataFrame]:
    acls = asked.acls
    observed = span(asked)
    totals = usage(asked)
    unneeded = removable(asked, totals)
    judged = verdicts(asked, totals, unneeded)
    rows = _usage_rows(acls, totals, observed, judged)
    return {
        "grant_usage": contents.of_job("grant_usage", rows),
        "unused_grants": _unused_table(rows, unneeded, acls.ids),
        "overbroad_grants": _overbroad_table(rows, overbroad_in(asked), judged),
    }


class GrantVerdict(NamedTuple):
    """The verdict about one binding in force, and the days of the history that it rests on.

    ``opening`` is the rule that says how much the binding opens.
    """

    judged: Judged
    days_known: int
    opening: Rule
    grant: Grant
    known: Known

    @property
    def narrowing(self) -> str:
        """Return why a narrower grant may not stand in its place; empty where it may."""
        return doubt_about(self.grant, self.known)


def verdicts(
    asked: GoldInput, totals: pl.DataFrame, unneeded: Sequence[Unused]
) -> list[GrantVerdict]:
    """Return the verdict of each binding in force, in their order."""
    acls, known, unlisted = asked.acls, known_in(asked), asked.once(generated_in)
    principals = {binding.entry.principal for binding in acls.bindings} - {WILDCARD_PRINCIPAL}
    around = ClusterContext(len(principals | known.activity.keys()), asked.sensitive)
    times = totals.select("binding", "uses", "last_ts")
    used = {row["binding"]: row for row in times.iter_rows(named=True)}
    reasons = {candidate.binding: candidate for candidate in unneeded}
    judged = []
    for number, binding in enumerate(acls.bindings):
        row, unused = used.get(number), reasons.get(number)
        grant = Grant(
            binding=binding,
            known_from=acls.known_from[number],
            given=acls.given[number],
            uses=0 if row is None else row["uses"],
            last=None if row is None else row["last_ts"],
            unused="" if unused is None else unused.reason,
            removable=unused is not None and unused.removable,
            covered=0 if unused is None else len(unused.covered_by),
            names=unlisted.get(number, ""),
            closes=unused is not None and unused.closes,
        )
        opening = opening_of(binding, around)
        days_known = int(known.days_of(grant))
        judged.append(GrantVerdict(judge(grant, known), days_known, opening, grant, known))
    return judged


def known_in(asked: GoldInput) -> Known:
    """Return what the history says about all grants."""
    allowed = [row for row in days(asked)["days"].to_dicts() if row["outcome"] == "ALLOWED"]
    history_span = span_of(allowed)
    activity = activity_of(asked)
    principals = frozenset(binding.entry.principal for binding in asked.acls.bindings)
    proof, logs, brokers = asked.proof, asked.proof.observed.brokers, brokers_in(asked)
    # Other servers decide everything themselves; the lines of brokers may be in a topic.
    has_controllers = logs is not None or bool(brokers.hosts)
    return Known(
        begin=history_span.first,
        end=history_span.last,
        thresholds=asked.thresholds,
        activity=activity,
        lacking=proof.lacking,
        contradicted=proof.doubtful,
        unread=asked.unread,
        listing=seen_too_few(principals - asked.policy.super_users, activity),
        lost_lines=proof.lost_lines,
        brokers_missing=_missing_brokers(logs, brokers),
        controllers_seen=brokers.controllers_seen or not has_controllers,
        controllers_span=brokers.controllers_span if has_controllers else None,
        logged=logged_in(asked),
        cluster_first=cluster_first(asked),
        super_users=asked.policy.super_users,
        networks=asked.networks,
        is_shut=shut_by_denies(asked.acls.bindings, networks=asked.networks),
        uncovered=uncovered_since(proof.observed, asked.thresholds),
        forgotten=asked.forgotten,
    )


def _missing_brokers(logs: int | None, brokers: Brokers) -> str:
    """Return a doubt where brokers whose requests are logged have no log of their own, or ''."""
    if logs is None:
        return ""
    others = len(brokers.hosts)
    # Each broker asks the others, so that the logs of all name each of them; none fetches from
    # itself.
    if max(others, 1 + brokers.replicate) <= max(logs, 1):
        return ""
    where = "another address asks" if others == 1 else f"{others} addresses ask"
    return (
        f"{logs} {'log was' if logs == 1 else 'logs were'} read, but brokers at {where} use"
        " CLUSTER_ACTION in them: logs of other brokers are missing"
    )


def usage(asked: GoldInput) -> pl.DataFrame:
    """Return the uses in the history, by the number of the binding."""
    return sum_uses(asked.answer(uses))


def uses(asked: GoldInput) -> Question:
    """Ask for the uses of the grants in force."""
    return Question(partial(parts_of, asked.index), PARTS)


def touches(asked: GoldInput) -> Question:
    """Ask what wide grants were used for."""
    return Question(partial(touches_of, asked.index, wide(asked.acls.bindings)), TOUCHES)


def removable(asked: GoldInput, totals: pl.DataFrame) -> list[Unused]:
    """Return bindings that were never decisive; those marked to go can go together (backtest)."""
    bindings = asked.acls.bindings
    ranks = rank_bindings(bindings, totals)
    [keepers] = asked.ask(Question(partial(keepers_of, asked.index, ranks), KEPT))
    unused = unused_bindings(bindings, totals, keepers, asked.policy)
    going = {candidate.binding for candidate in unused if candidate.removable}
    left = tuple(binding for number, binding in enumerate(bindings) if number not in going)
    if going and len(changes_by(asked, left)):
        # It would be an error of ours, and no reason to break somebody.
        return [candidate._replace(removable=False) for candidate in unused]
    return unused


def overbroad_in(asked: GoldInput) -> Excess:
    return overbroad(asked.acls.bindings, asked.answer(touches), history(asked))


def generated_in(asked: GoldInput) -> dict[int, str]:
    """Return for each grant, by number, why the names that it was used for cannot be listed."""
    observed = span(asked)
    return generated(asked.acls.bindings, asked.answer(touches), observed.first, observed.last)


def _usage_rows(
    acls: AclSet, totals: pl.DataFrame, observed: Span, judged: Sequence[GrantVerdict]
) -> pl.DataFrame:
    """Return all bindings in their order, with their uses and verdicts."""
    verdicts = pl.DataFrame(
        [
            (
                *(number, verdict.judged.verdict.value, verdict.judged.rule, verdict.judged.why),
                *(verdict.grant.known_from, verdict.days_known),
                *(verdict.opening.severity, verdict.opening.opens),
            )
            for number, verdict in enumerate(judged)
        ],
        {
            "binding": pl.Int32,
            **dict.fromkeys(("verdict", "rule", "why"), pl.String),
            "known_from": _TIME,
            "days_known": pl.Int64,
            **dict.fromkeys(("severity", "opens"), pl.String),
        },
        orient="row",
    )
    frame = acls.rows.join(totals, on="binding", how="left", maintain_order="left")
    return frame.join(verdicts, on="binding", maintain_order="left").with_columns(
        pl.col("uses", "decisive_uses").fill_null(0),
        pl.col(*DETAILS.values()).fill_null(_NOTHING),
        pl.col("principal_count", "host_count", "resource_count").fill_null(0),
        used=pl.col("uses").fill_null(0) > 0,
        decisive=pl.col("decisive_uses").fill_null(0) > 0,
        first_used="first_ts",
        last_used="last_ts",
        days_observed=pl.lit(observed.days, pl.Int64),
        first_observed=pl.lit(observed.first, _TIME),
        last_observed=pl.lit(observed.last, _TIME),
    )


def _unused_table(
    rows: pl.DataFrame, candidates: Sequence[Unused], ids: Sequence[str]
) -> pl.DataFrame:
    unused = pl.DataFrame(
        [
            (
                candidate.binding,
                candidate.reason,
                [ids[other] for other in candidate.covered_by[:COVERED_BY_MAX]],
            )
            for candidate in candidates
        ],
        {"binding": pl.Int32, "reason": pl.String, "covered_by": pl.List(pl.String)},
        orient="row",
    )
    frame = unused.join(rows, on="binding", maintain_order="left")
    going = frame.filter(pl.col("verdict") == "REMOVE")
    commands = going.select("binding", commands_of(going, remove=True))
    frame = frame.join(commands, on="binding", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col("command").fill_null(""), proposal="verdict")
    return contents.of_job("unused_grants", frame)


def _overbroad_table(
    rows: pl.DataFrame, excess: Excess, judged: Sequence[GrantVerdict]
) -> pl.DataFrame:
    about = ("binding", "binding_id", *FIELDS, "severity", "opens", "days_observed")
    frame = rows.select(about).join(excess.grants, on="binding", maintain_order="left")
    certain = [number for number in frame["binding"] if not judged[number].narrowing]
    removals = frame.filter(pl.col("binding").is_in(certain))
    removals = removals.select("binding", commands_of(removals, remove=True).alias("removal"))
    instead = excess.instead.join(removals, on="binding", how="semi", maintain_order="left")
    instead = instead.with_columns(text().alias("proposal"), commands_of(instead))
    # Where no command can add what stands for the grant, none may remove it.
    can_add = pl.col("commands").list.eval(pl.element() != "").list.all()
    commands = pl.when(can_add).then(pl.concat_list("commands", "removal"))
    proposals = (
        instead.group_by("binding")
        .agg("proposal", pl.col("command").alias("commands"))
        .join(removals, on="binding")
        .with_columns(commands.alias("commands"))
    )
    frame = frame.join(proposals, on="binding", how="left", maintain_order="left").with_columns(
        pl.col("proposal", "commands").fill_null(_NOTHING),
        pl.col("touched_principals", "touched_hosts", "touched_resources").list.head(LISTED_MAX),
        touched_resource_count=pl.col("touched_resources").list.len().cast(pl.Int64),
    )
    return contents.of_job("overbroad_grants", frame)
