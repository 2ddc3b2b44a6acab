"""Decisions of several files, of which some are copies."""

from __future__ import annotations

import random

import polars as pl
import pytest

from doorkeeper_pipeline.jobs.copies import sum_files
from doorkeeper_pipeline.sources.json_lines import Decided, _frame

MINUTE_MS = 60_000


def decided(at_ms: int, name: str = "t") -> Decided:
    """Return a decision."""
    us = at_ms * 1000
    return Decided("User:a", "h", "READ", "TOPIC", name, "DENIED", "", "", "", False, 1, us, us)


def traffic(seed: int, minutes: int = 30, each: int = 12) -> list[Decided]:
    """Return a log of some minutes of one hour, in order."""
    chance = random.Random(seed)
    at = sorted(chance.randrange(1, minutes * MINUTE_MS) for _ in range(minutes * each))
    return [decided(ms, f"t{chance.randrange(4)}") for ms in at]


def summed(**files: list[Decided]) -> tuple[int, int]:
    """Return how many decisions files have, and how many are copies."""
    lines = [_frame(rows, "s").with_columns(file_id=pl.lit(name)) for name, rows in files.items()]
    found, copied = sum_files(pl.concat(lines))
    return int(found["count"].sum()), copied


@pytest.mark.parametrize(
    ("begin", "end"),
    [(0, 360), (0, 100), (77, 300)],
    ids=["a copy", "of the beginning", "torn within minutes"],
)
def test_partial_copy_is_not_counted(begin: int, end: int) -> None:
    log = traffic(1)

    assert summed(a=log, b=log[begin:end]) == (360, end - begin)
    assert summed(b=log, a=log[begin:end]) == (360, end - begin)


def test_overlapping_rotations_are_counted_once() -> None:
    log = traffic(2)

    assert summed(a=log[:200], b=log[117:290], c=log[250:]) == (360, 83 + 40)


def test_logs_of_several_brokers_are_summed() -> None:
    """They have no minute in common, although they have the same decisions in it."""
    logs = {f"broker-{seed}": traffic(seed) for seed in range(5)}

    assert summed(**logs) == (5 * 360, 0)
    assert summed(**logs, copy=logs["broker-3"][40:]) == (5 * 360, 320)


@pytest.mark.parametrize("step", [2, 10])
@pytest.mark.parametrize("kept", [False, True])
def test_incomplete_copy_is_not_counted(step: int, *, kept: bool) -> None:
    log = traffic(3, minutes=50)
    copy = log[::step] if kept else [each for at, each in enumerate(log) if at % step]

    assert summed(a=log, b=copy) == (len(log), len(copy))
    assert summed(b=log, a=copy) == (len(log), len(copy))


def test_larger_of_two_incomplete_copies_counts() -> None:
    log = traffic(4)
    copies = [[each for at, each in enumerate(log) if at % 10 != lost] for lost in (0, 5)]

    count, copied = summed(a=copies[0], b=copies[1])

    assert len(copies[0]) <= count <= len(log)
    assert count + copied == sum(map(len, copies))


def test_brokers_with_whole_second_timestamps_are_summed() -> None:
    logs = [
        [decided(1000 * second, f"t{second % 7}") for second in range(start, 1800, 60)]
        for start in (0, 0)
    ]
    logs[0] += [decided(1000 * second + 250, "other") for second in range(0, 1800, 45)]

    assert summed(a=sorted(logs[0], key=lambda each: each[11]), b=logs[1]) == (30 + 30 + 40, 0)


def test_equal_lines_within_a_file_count() -> None:
    """A client may ask the same twice in a millisecond."""
    assert summed(a=[decided(5), decided(5)], b=[decided(5), decided(5)]) == (2, 2)
