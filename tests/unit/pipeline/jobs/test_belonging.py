"""Inputs of one folder belong together: one log of each server, and one cluster."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.jobs.belonging import (
    Cluster,
    check_logs,
    choose_cluster,
)

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


def file(path: str, source: str, first: int | None, last: int = 0) -> dict[str, Any]:
    """Return a row of the table files whose decisions are of these minutes after noon."""
    begin = None if first is None else NOON + dt.timedelta(minutes=first)
    end = None if first is None else NOON + dt.timedelta(minutes=last)
    return {"path": path, "source": source, "first_ts": begin, "last_ts": end}


def test_same_period_in_both_logs_is_rejected() -> None:
    both = [file("/b/kafka.log", "authorizer-log", 10, 20), file("/a/audit", "trail", 0, 10)]

    with pytest.raises(Conflicting) as caught:
        check_logs(both)

    told = str(caught.value)
    assert told.startswith(
        "/a/audit (trail) and /b/kafka.log (authorizer-log) both have decisions from"
        " 2026-11-22 12:10:00 to 2026-11-22 12:10:00 UTC"
    )
    assert "both. Omit the authorizer log" in told
    assert "--different-servers" in told


def test_consecutive_logs_are_accepted() -> None:
    check_logs([file("/b", "authorizer-log", 0, 9), file("/a", "trail", 10, 20)])
    check_logs([file("/b", "authorizer-log", None), file("/a", "trail", 10, 20)])


def test_events_of_several_clusters_require_a_choice() -> None:
    files: list[dict[str, Any]] = [
        {"path": "/a", "decisions": 2, "clusters": ["lkc-2", "lkc-1"]},
        {"path": "/b", "decisions": 0, "clusters": None},
    ]

    with pytest.raises(Conflicting) as caught:
        choose_cluster(files, "", Cluster(""))

    assert str(caught.value) == (
        "the events belong to 2 clusters: lkc-1 (in /a), lkc-2 (in /a); select one with"
        " --cluster-name"
    )
    chosen = choose_cluster(files, "lkc-1", Cluster("lkc-1"))
    assert (chosen.name, chosen.ids) == ("lkc-1", ("lkc-1", "lkc-2"))


def test_events_of_one_cluster_require_no_choice() -> None:
    files: list[dict[str, Any]] = [{"path": "/a", "decisions": 1, "clusters": ["lkc-1"]}]

    assert choose_cluster(files, "", Cluster("")).name == "lkc-1"
    with pytest.raises(
        Conflicting, match="found 'payments', but the events belong to cluster lkc-1"
    ):
        choose_cluster(files, "payments", Cluster("payments"))


def test_rows_without_cluster_name() -> None:
    rows = pl.DataFrame({"cluster": ["", None, "b"], "row": [1, 2, 3]})
    first, second = Cluster("a", ("a", "b"), "a"), Cluster("b", ("a", "b"), "a")

    none = rows.clear()
    assert first.own(rows)["row"].to_list() == second.replaced(rows, none)["row"].to_list()
    assert second.own(rows)["row"].to_list() == first.replaced(rows, none)["row"].to_list() == [3]
    assert second.replaced(rows, none).rows() == [("a", 1), ("a", 2)]
    assert first.replaced(rows, rows.head(1)).rows() == [("b", 3), ("a", 1)]
