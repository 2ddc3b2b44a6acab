"""What a command starts with."""

from __future__ import annotations

import gc
import re

import click
import pytest

from doorkeeper_pipeline.cli import starting
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.engines.session import Settings


def test_the_local_engine_needs_nothing() -> None:
    """The engine without a JVM starts at once and tells nothing."""
    told: list[str] = []
    for name in ("local", None):
        with starting.engine(name, None, told.append) as engine:
            assert isinstance(engine, LocalEngine)
    assert told == []


def test_a_master_is_for_spark() -> None:
    """The local engine would ignore it."""
    with (
        pytest.raises(click.UsageError, match="found --master yarn"),
        starting.engine("local", "yarn", lambda _: None),
    ):
        pass


def test_settings_of_spark_are_for_spark() -> None:
    """The local engine would ignore them."""
    given = Settings(conf=(("spark.executor.memory", "4g"),))
    with (
        pytest.raises(click.UsageError, match="add --engine spark"),
        starting.engine(None, None, lambda _: None, given),
    ):
        pass


def test_names_of_runs_sort_by_time() -> None:
    """A run is named by its begin, and no two alike."""
    names = {starting.run_id(starting.now()) for _ in range(3)}

    assert len(names) == 3
    assert all(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", name) for name in names)


def test_the_policy() -> None:
    """Super users and the default are as they were given."""
    found = starting.policy(("User:a",), allow_everyone=True)

    assert found.super_users == {"User:a"}
    assert found.allow_everyone
    assert re.match(r"\d|unknown", starting.version())


def test_without_collection() -> None:
    """Cyclic garbage stays while a command runs, and is collected again behind it."""
    with starting.no_garbage_collection():
        assert not gc.isenabled()

    assert gc.isenabled()
