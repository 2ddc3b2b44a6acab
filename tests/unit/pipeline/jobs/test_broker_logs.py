"""The logs of brokers among input files: rotations are one log, and gaps of one broker show."""

import datetime as dt
from typing import Any

import pytest

from doorkeeper_pipeline.jobs.broker_logs import broker_logs, name_of

BEGIN = dt.datetime(2026, 10, 1, 6, tzinfo=dt.UTC)


def file(path: str, first: int, last: int, **changed: Any) -> dict[str, Any]:
    """Return a row of the table files with decisions on each day from the first to the last."""
    days = [BEGIN + dt.timedelta(days=day) for day in range(first, last + 1)]
    return {
        "path": path,
        "source": "authorizer-log",
        "topic_id": None,
        "numbers": None,
        "head_sha256": f"{path} {first}",
        "first_ts": days[0],
        "last_ts": days[-1] + dt.timedelta(minutes=5),
        "days": [f"{day:%Y-%m-%d}" for day in days],
        "allowed_days": [f"{day:%Y-%m-%d}" for day in days],
        **changed,
    }


def spans(*files: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the logs, each with the number of its days."""
    return [(log.path, len(log.days)) for log in broker_logs(files) or ()]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/b1/kafka-authorizer.log.12", "/b1/kafka-authorizer.log"),
        ("/b1/kafka-authorizer.log.2026-10-01-05.gz", "/b1/kafka-authorizer.log"),
        ("/logs/2026/10/01/05/b1.log", "/logs/b1.log"),
        ("/logs/b1-20261001.log.gz", "/logs/b1.log"),
        ("/10.0.0.17/a.log", "/10.0.0.17/a.log"),
    ],
)
def test_rotation_suffixes_are_removed(path: str, name: str) -> None:
    assert name_of(path) == name


def test_rotated_files_form_one_log_per_broker() -> None:
    assert spans(
        file("/b1/a.log.2.gz", 0, 9),
        file("/b1/a.log.1", 8, 20),
        file("/b1/a.log", 20, 30),
        file("/b2/a.log", 20, 30),
    ) == [("/b1/a.log", 31), ("/b2/a.log", 11)]


def test_consecutive_logs_form_one_log() -> None:
    assert spans(
        file("/pods/kafka-0_7f/0.log", 0, 14),
        file("/pods/kafka-1_8a/0.log", 0, 30),
        file("/pods/kafka-0_9c/0.log", 15, 30),
    ) == [("/pods/kafka-0_9c/0.log", 31), ("/pods/kafka-1_8a/0.log", 31)]


def test_copy_with_another_name_is_the_same_log() -> None:
    assert spans(
        file("/b1/a.log.1", 0, 9, head_sha256="x"),
        file("/b1/a.log", 10, 30),
        file("/copies/monday", 0, 9, head_sha256="x"),
    ) == [("/b1/a.log", 31)]


def test_randomly_named_chunks_form_one_log() -> None:
    chunks = [file(f"/bucket/{day:x}c4e", day, day + 1) for day in range(30)]

    assert spans(*chunks) == [("/bucket/1dc4e", 31)]
    assert len(spans(file("/b1/a.log", 0, 1), file("/b2/a.log", 0, 1))) == 2
    assert spans(file("/b1/a.log", 0, 30), *chunks) == [("/b1/a.log", 31)]


@pytest.mark.parametrize("changed", [{"source": "cloudevents"}, {"topic_id": "t"}])
def test_cluster_wide_sources_have_no_broker_logs(changed: dict[str, Any]) -> None:
    assert broker_logs([file("/b1/a.log", 0, 30), file("/x", 0, 30, **changed)]) is None


def test_days_of_denials_are_not_covered() -> None:
    at_info = file("/b2/a.log", 0, 30, allowed_days=["2026-10-20"])

    assert spans(file("/b1/a.log", 0, 30), at_info) == [("/b1/a.log", 31), ("/b2/a.log", 1)]
    assert spans(file("/b1/a.log", 0, 30, allowed_days=None)) == [("/b1/a.log", 31)]
