"""The time of a record, and that of the collector around it."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from doorkeeper_pipeline.sources.clocks import zone_in_doubt
from doorkeeper_pipeline.sources.recognising import form_of

BEGIN = dt.datetime(2026, 6, 29, 10, 41, 19, 484000, tzinfo=dt.UTC)
MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)


def line(collected: dt.datetime, local: dt.datetime, form: str) -> str:
    """Return a record with a local time, as a collector wrote it."""
    record = f"[{local:%Y-%m-%d %H:%M:%S},484] INFO Principal = User:a (kafka.authorizer.logger)"
    time = f"{collected:%Y-%m-%dT%H:%M:%S.484Z}"
    match form:
        case "Filebeat":
            return json.dumps({"@timestamp": time, "message": record})
        case "epoch":
            ms = int(collected.timestamp() * 1000)
            return json.dumps({"events": [{"timestamp": ms, "message": record}]})
        case "cri":
            return f"{time} stdout F {record}"
        case _:
            return f"{time} {record}"


def told(lag: dt.timedelta, ahead: dt.timedelta, zone: str = "UTC", form: str = "Filebeat") -> str:
    """Return the warning about a file whose records are in a zone, and are collected late."""
    times = [BEGIN + number * HOUR for number in range(3)]
    text = "\n".join(line(each + lag, each + ahead, form) for each in times).encode()
    found = form_of(text)
    assert found is not None
    return zone_in_doubt(text, found, zone)


@pytest.mark.parametrize("form", ["Filebeat", "epoch", "cri", "prefix"])
def test_constant_difference_is_a_zone(form: str) -> None:
    found = told(MINUTE / 60, 8 * HOUR, form=form)

    assert "8:00 h ahead of" in found
    assert "as one of UTC; --zone may be missing or wrong" in found


@pytest.mark.parametrize(
    ("lag", "ahead", "zone"),
    [
        (MINUTE / 60, 0 * HOUR, "UTC"),
        (MINUTE / 60, 8 * HOUR, "Asia/Shanghai"),
        (20 * MINUTE, 8 * HOUR, "Asia/Shanghai"),
        (40 * MINUTE, 0 * HOUR, "UTC"),
        (300 * HOUR, 0 * HOUR, "UTC"),
    ],
)
def test_lag_is_not_a_zone(lag: dt.timedelta, ahead: dt.timedelta, zone: str) -> None:
    assert told(lag, ahead, zone) == ""


def test_quarter_hour_zones() -> None:
    """Kathmandu is 5:45 h ahead; west of Greenwich records are behind."""
    assert "5:45 h ahead of" in told(MINUTE / 60, 5.75 * HOUR)
    assert "3:30 h behind" in told(MINUTE / 60, -3.5 * HOUR)
