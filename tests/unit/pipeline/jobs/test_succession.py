"""One set of ACLs after another."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl

from doorkeeper.acl.formats.names import binding_of
from doorkeeper_pipeline.jobs.succession import follow
from doorkeeper_pipeline.sources.acl_sets import table_of
from doorkeeper_pipeline.tables import contents

ROW = ["resource_name", "valid_from", "valid_to"]


def at(day: int) -> dt.datetime:
    """Return a day."""
    return dt.datetime(2026, 1, day, tzinfo=dt.UTC)


def listed(*names: str, source: str = "kafka") -> pl.DataFrame:
    """Return a listing that lets somebody read these topics."""
    bindings = [
        binding_of(
            resource="TOPIC",
            name=name,
            pattern="LITERAL",
            principal="User:a",
            host="*",
            does="READ",
            permission="ALLOW",
        )
        for name in names
    ]
    return table_of(bindings, source)


def logged(name: str, since: int, until: int | None = None) -> pl.DataFrame:
    """Return what a change log says of one."""
    times = {"valid_from": at(since), "valid_to": None if until is None else at(until)}
    lit = {key: pl.lit(value, pl.Datetime("us", "UTC")) for key, value in times.items()}
    return listed(name, source="change-log").with_columns(**lit, from_revision=pl.lit(7))


def rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Return names and times, after a check of the contract."""
    contents.check("bindings", frame)
    return frame.select(ROW).rows()


def test_the_first_set_was_always_there() -> None:
    """Nothing came where nothing was known before."""
    found = follow(contents.empty("bindings"), listed("a"), at(1))

    assert rows(found) == [("a", None, None)]


def test_what_comes_and_goes_and_comes_again() -> None:
    """Each set after another gives times to what is different, and to nothing else."""
    second = follow(listed("a", "b"), listed("b", "c"), at(2))
    third = follow(second, listed("a", "b"), at(3))

    assert rows(second) == [("a", None, at(2)), ("b", None, None), ("c", at(2), None)]
    assert rows(third) == [
        ("a", None, at(2)),
        ("a", at(3), None),
        ("b", None, None),
        ("c", at(2), at(3)),
    ]
    assert follow(third, listed("a", "b"), at(4)).equals(third)


def test_a_clock_that_was_set_back() -> None:
    """A binding does not go before it came."""
    second = follow(listed("a"), listed("a", "b"), at(5))

    assert rows(follow(second, listed("a"), at(2)))[1] == ("b", at(5), at(5))


def test_a_change_log_knows_better() -> None:
    """Its own times count, for what is in force and for what is gone."""
    log = pl.concat([logged("a", 1), logged("b", 1, 2)])

    assert rows(follow(listed("a", "b"), log, at(9))) == [
        ("a", at(1), None),
        ("b", at(1), at(2)),
    ]
    assert rows(follow(log, log, at(9))) == rows(log)
    assert rows(follow(log, listed("a", "c"), at(9))) == [
        ("a", at(1), None),
        ("b", at(1), at(2)),
        ("c", at(9), None),
    ]
