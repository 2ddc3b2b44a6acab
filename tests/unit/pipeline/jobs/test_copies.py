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
def test_a_part_of_another_file_counts_nothing(begin: int, end: int) -> None:
    """Copies may begin and end within a minute."""
    log = traffic(1)

    assert summed(a=log, b=log[begin:end]) == (360, end - begin)
    assert summed(b=log, a=log[begin:end]) == (360, end - begin)


def test_rotations_that_overlap() -> None:
    """Each line counts once, where the first ends and the second begins within a minute too."""
    log = traffic(2)

    assert summed(a=log[:200], b=log[117:290], c=log[250:]) == (360, 83 + 40)


def test_logs_of_several_brokers_are_summed() -> None:
    """They have no minute in common, although they have the same decisions in it."""
    logs = {f"broker-{seed}": traffic(seed) for seed in range(5)}

    assert summed(**logs) == (5 * 360, 0)
    assert summed(**logs, copy=logs["broker-3"][40:]) == (5 * 360, 320)


def test_equal_lines_within_a_file_count() -> None:
    """A client may ask the same twice in a millisecond."""
    assert summed(a=[decided(5), decided(5)], b=[decided(5), decided(5)]) == (2, 2)
