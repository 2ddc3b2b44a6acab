"""Recorded outcomes beside recomputed ones, with ACLs that change and logs that do not belong."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS, NO_THRESHOLDS
from doorkeeper_pipeline.jobs.agreement import agreement, evidence
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_tables import bindings_table
from testkit.histories import BEGIN, Asking, asked_of

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.jobs.gold import GoldInput

TOPIC = ResourceType.TOPIC
ORDERS = allow("a", READ, topic("orders"))
ALL_ORDERS = allow("b", READ, topic("o", PREFIXED))
OTHER = allow("c", WRITE, topic("x"))


def reads(user: str, *, day: int = 0, count: int = 1) -> Asking:
    question = Question(f"User:{user}", "10.0.0.1", READ, TOPIC, "orders")
    return Asking(question=question, day=day, count=count)


HISTORY = [reads("a", count=5), reads("b", day=2, count=3), reads("c", day=3)]
BINDINGS = [ORDERS, ALL_ORDERS, OTHER]


def rows(asked: GoldInput) -> list[dict[str, Any]]:
    table = agreement(asked)["agreement"]
    return table.to_dicts()


def dated(asked: GoldInput, **times: Any) -> GoldInput:
    """Return the same with times of all bindings."""
    frame = asked.bindings
    when = {name: pl.lit(at, dtype=frame.schema[name]) for name, at in times.items()}
    return replace(asked, bindings=frame.with_columns(**when))


def test_log_agrees_with_its_acls(tmp_path: Path) -> None:
    asked = asked_of(tmp_path, HISTORY, BINDINGS)

    found = rows(asked)

    assert [
        (row["principal"], row["count"], row["agreeing"], row["unlisted"]) for row in found
    ] == [
        ("User:a", 5, 5, 0),
        ("User:b", 3, 3, 0),
        ("User:c", 1, 1, 0),
    ]
    proof = evidence(asked, NO_THRESHOLDS)
    assert (proof.agreement, proof.lacking, proof.causes) == (100, (), ())
    assert proof.observed.allowed == 8


def test_acls_of_another_cluster_contradict(tmp_path: Path) -> None:
    asked = replace(asked_of(tmp_path, HISTORY, BINDINGS), bindings=bindings_table([OTHER]))

    proof = evidence(asked, DEFAULT_THRESHOLDS)

    assert proof.contradicts
    assert proof.agreement == 100 / 9
    assert any("probably from another cluster" in each for each in proof.causes)


def test_missing_super_user_and_allow_everyone_are_named(tmp_path: Path) -> None:
    policy = Policy(super_users=frozenset({"User:a"}), allow_everyone=True)
    asked = asked_of(tmp_path, [reads("a"), reads("z")], [OTHER], policy=policy)
    asked = replace(asked, policy=Policy())

    proof = evidence(asked, NO_THRESHOLDS)

    assert proof.agreement == 0
    assert [each[each.index("add --") :] for each in proof.causes[:2]] == [
        "add --super-user User:a",
        "add --allow-everyone",
    ]


def test_acl_removed_during_the_history(tmp_path: Path) -> None:
    asked = asked_of(tmp_path, [reads("a", day=1), reads("a", day=3)], [ORDERS])
    gone = dated(asked, valid_to=BEGIN + dt.timedelta(days=2))
    kept = bindings_table([OTHER])
    asked = replace(gone, bindings=pl.concat([gone.bindings, kept]))

    (row,) = rows(asked)

    assert (row["outcome"], row["outcome_now"]) == ("ALLOWED", "DENIED")
    assert (row["count"], row["agreeing"], row["unlisted"]) == (2, 1, 0)


def test_acl_added_during_the_history(tmp_path: Path) -> None:
    at = BEGIN + dt.timedelta(days=2)
    asked = asked_of(tmp_path, [reads("a", day=1), reads("a", day=2), reads("a", day=3)], [OTHER])
    came = dated(replace(asked, bindings=bindings_table([ORDERS])), valid_from=at)

    (row,) = rows(came)

    assert (row["outcome"], row["outcome_now"], row["count"]) == ("DENIED", "ALLOWED", 3)
    assert row["agreeing"] == 2


def test_other_acls_matter_with_allow_everyone(tmp_path: Path) -> None:
    policy = Policy(allow_everyone=True)
    asked = asked_of(tmp_path, [reads("z", day=1)], [OTHER], policy=policy)
    came = replace(asked, bindings=bindings_table([deny("q", READ, topic("orders"))]))

    (row,) = rows(dated(came, valid_from=BEGIN + dt.timedelta(days=2)))

    assert (row["outcome"], row["outcome_now"], row["agreeing"]) == ("ALLOWED", "DENIED", 1)
