"""Inputs of one folder belong together: one log of each server, and one cluster."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.jobs.belonging import check_logs

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
