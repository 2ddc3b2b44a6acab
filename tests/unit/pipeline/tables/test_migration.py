"""Tables of an earlier release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.tables import contents, delta
from doorkeeper_pipeline.tables.migration import migrate
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import world_of
from testkit.report_tables import table_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def frames() -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield tables, the names of their files in the earlier release, and rows."""
    for name, frame in tables_of(world_of(SMALL), 1_000).items():
        rows = frame.collect()
        if name == "decisions":
            for (day, hour), part in rows.group_by("day", pl.col("minute").dt.hour()):
                yield name, f"silver/decisions/day={day}/hour-{hour:02}.parquet", part
        elif name == "quarantine":
            yield name, "bronze/quarantine/file_id=00ab/part-00000.parquet", rows
        else:
            layer = "manifest" if name in {"files", "runs"} else "gold"
            yield name, f"{layer}/{name}/{name}.parquet", rows
    yield "bindings", "silver/bindings/bindings.parquet", table_of("bindings", [{}]).collect()


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, int]:
    """Write a folder as the earlier release left it; return how many rows its tables have."""
    counts: dict[str, int] = {}
    for table, name, rows in frames():
        contents.write(contents.as_frame(table, rows), tmp_path / name)
        counts[table] = counts.get(table, 0) + len(rows)
    return counts


def counts_in(out: Path, tables: dict[str, int]) -> dict[str, int]:
    """Return how many rows the tables have."""
    return {name: len(delta.read(out, name)) for name in tables}


def test_all_rows_are_there(earlier: dict[str, int], tmp_path: Path) -> None:
    """Each table has its rows, its files the new names, and nothing is left of the old ones."""
    assert migrate(tmp_path) == earlier

    assert counts_in(tmp_path, earlier) == earlier
    names = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")]
    assert all(name.endswith("-migrated.parquet") for name in names)
    assert not list(tmp_path.rglob("*=*"))
    with pytest.raises(Unreadable, match="no tables of an earlier release"):
        migrate(tmp_path)


def test_ended_in_the_middle(
    earlier: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again after an end before, or after, the commits it ends the same."""

    class Killed(Exception):
        """In place of a kill."""

    def killed(*_: object, **__: object) -> None:
        raise Killed

    for ends_at in ("commit", "unlink"):
        with monkeypatch.context() as patched:
            patched.setattr(delta.Change if ends_at == "commit" else Path, ends_at, killed)
            with pytest.raises(Killed):
                migrate(tmp_path)

    migrate(tmp_path)

    assert counts_in(tmp_path, earlier) == earlier


def test_a_commit_that_was_killed(earlier: dict[str, int], tmp_path: Path) -> None:
    """What the earlier release had committed and not moved yet is moved first."""
    denied = tmp_path / "gold" / "denied" / "denied.parquet"
    staged = tmp_path / ".staging" / "run" / "gold" / "denied" / "denied.parquet"
    staged.parent.mkdir(parents=True)
    denied.rename(staged)
    plan = {"run": "run", "moved": ["gold/denied/denied.parquet"], "removed": []}
    (tmp_path / ".commit.json").write_text(json.dumps(plan))

    migrate(tmp_path)

    assert counts_in(tmp_path, earlier) == earlier
    assert not (tmp_path / ".commit.json").exists()
    assert not (tmp_path / ".staging").exists()


def test_a_commit_of_something_else(tmp_path: Path) -> None:
    """A commit file that is none of ours is not followed, least of all out of the folder."""
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine").write_text("mine")
    outside = '{"run": "r", "moved": [], "removed": ["../mine"]}'
    for plan in ("[]", outside, outside.replace("../mine", str(tmp_path / "mine"))):
        (out / ".commit.json").write_text(plan)
        with pytest.raises(Unreadable, match="no commit"):
            migrate(out)
    assert (tmp_path / "mine").read_text() == "mine"
