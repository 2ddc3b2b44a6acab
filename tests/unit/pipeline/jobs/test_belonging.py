"""Inputs of one folder belong together: one log of each server, and one cluster."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.jobs.belonging import check_clusters, check_logs, check_name

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


def file(path: str, source: str, first: int | None, last: int = 0) -> dict[str, Any]:
    """Return a row of the table files whose decisions are of these minutes after noon."""
    begin = None if first is None else NOON + dt.timedelta(minutes=first)
    end = None if first is None else NOON + dt.timedelta(minutes=last)
    return {"path": path, "source": source, "first_ts": begin, "last_ts": end}


@pytest.mark.parametrize("source", ["trail", "cloudevents", "ocsf"])
def test_the_same_time_in_both_logs(source: str) -> None:
    """Both would count the same decisions: the refusal names the two files and the remedy."""
    both = [file("/b/kafka.log", "authorizer-log", 10, 20), file("/a/audit", source, 0, 10)]

    with pytest.raises(Conflicting) as caught:
        check_logs(both)

    told = str(caught.value)
    assert told.startswith(
        f"/a/audit ({source}) and /b/kafka.log (authorizer-log) both have decisions from"
        " 2026-11-22 12:10:00 to 2026-11-22 12:10:00 UTC"
    )
    assert "leave the authorizer log out" in told
    assert "--different-servers" in told


def test_logs_that_follow_each_other() -> None:
    """A server that wrote the one log until a time, and the other from then on, counts once."""
    check_logs([file("/b", "authorizer-log", 0, 9), file("/a", "trail", 10, 20)])
    check_logs([file("/b", "authorizer-log", None), file("/a", "trail", 10, 20)])


def test_logs_of_one_kind() -> None:
    """Each broker has its own log: those of one kind may have the same times."""
    check_logs([file("/a", "trail", 0, 9), file("/b", "trail", 0, 9)])
    check_logs([file("/a", "authorizer-log", 0, 9), file("/b", "authorizer-log", 0, 9)])


def test_events_of_several_clusters() -> None:
    """Decisions of one would be judged by the ACLs of another: all are named, with the option."""
    files: list[dict[str, Any]] = [
        {"path": "/a", "clusters": ["lkc-2", "lkc-1"]},
        {"path": "/b", "clusters": None},
    ]

    with pytest.raises(Conflicting) as caught:
        check_clusters(files)

    told = str(caught.value)
    assert told.startswith("the events are of 2 clusters: lkc-1 (in /a), lkc-2 (in /a).")
    assert "--event-cluster" in told
    check_clusters([{"path": "/a", "clusters": ["lkc-1"]}, {"path": "/b", "clusters": ["lkc-1"]}])


def test_the_name_of_the_cluster() -> None:
    """It stays where a run gives none, and is not replaced by another."""
    assert check_name("", "payments") == check_name("payments", "") == "payments"
    assert check_name("payments", "payments") == "payments"
    with pytest.raises(Conflicting, match="found 'orders', and these tables are about 'payments'"):
        check_name("payments", "orders")
