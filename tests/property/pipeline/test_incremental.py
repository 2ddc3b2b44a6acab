"""Runs over a log that comes in pieces end with the tables of one run over all of it."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testkit.pipeline_runs import Output, record, silver_and_gold

if TYPE_CHECKING:
    from collections.abc import Sequence

LISTING = """\
KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:alice,TOPIC,LITERAL,x,READ,ALLOW,*
User:alice,TOPIC,PREFIXED,p,READ,ALLOW,*
User:bob,TOPIC,LITERAL,*,ALL,ALLOW,*
User:*,TOPIC,LITERAL,p1,READ,DENY,10.0.0.7
"""
BEGIN = dt.datetime(2026, 11, 19, 23, 58, tzinfo=dt.UTC)
FILES = ("a.log", "b.log", "c.log")

lines = st.builds(
    lambda minutes, name, user, is_allowed: (
        record(name, f"{BEGIN + dt.timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S},000", user)
        .replace("is Denied", "is Allowed" if is_allowed else "is Denied")
        .replace("DefaultDeny", "DefaultAllow" if is_allowed else "DefaultDeny")
    ),
    st.sampled_from((0, 1, 3, 700, 1500, 3000)),
    st.sampled_from(("x", "y", "p1", "p2", "order 1")),
    st.sampled_from(("alice", "bob", "eve")),
    st.booleans(),
)
"""Lines of three days."""

pieces = st.lists(
    st.tuples(st.sampled_from(FILES), st.lists(lines, min_size=1, max_size=8), st.integers(0, 4)),
    min_size=2,
    max_size=4,
)
"""What happens before each run: a file loses some of its last lines, and gets others."""


def head(name: str) -> list[str]:
    """Return the beginning of a file, as much as tells it from others."""
    return [record(f"head-of-{name}", "2026-11-19 23:50:00,000")] * 30


def agree(steps: Sequence[tuple[str, list[str], int]]) -> None:
    """Run after each step, and once over what the steps leave; compare all tables."""
    with tempfile.TemporaryDirectory() as folder:
        logs, listing = Path(folder, "logs"), Path(folder, "acls.csv")
        logs.mkdir()
        listing.write_text(LISTING)
        site = Output(Path(folder, "out"), str(logs))
        texts: dict[str, list[str]] = {}
        for name, more, lost in steps:
            before = texts.get(name, [])
            changed = [*before[: max(len(before) - lost, 0)], *more]
            # A file that became shorter stays as it was read.
            is_shorter = len("".join(changed)) < len("".join(before))
            texts[name] = [*before, *more] if is_shorter else changed
            (logs / name).write_text("".join([*head(name), *texts[name]]))
            site.run(acls=(str(listing),))

        site.run(out=Path(folder, "whole"), acls=(str(listing),))

        assert rows(site.out) == rows(Path(folder, "whole"))


@settings(max_examples=3, deadline=None)
@given(steps=pieces)
def test_pieces_are_the_whole(steps: Sequence[tuple[str, list[str], int]]) -> None:
    """Whatever grows, comes late or is lost again: each table has the rows of a single run."""
    agree(steps)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(steps=pieces)
def test_many_pieces_are_the_whole(steps: Sequence[tuple[str, list[str], int]]) -> None:
    """As the short form, with many more steps."""
    agree(steps)


def rows(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of silver and gold, but for findings that are gone."""
    found = silver_and_gold(out)
    found["findings"] = [row for row in found["findings"] if row["gone"] is None]
    return found
