"""Tables of an earlier release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.tables import contents, delta
from doorkeeper_pipeline.tables.migration import migrate
from testkit.report_tables import BEGIN, table_of

FILES = {
    "decisions": "silver/decisions/day=2026-11-01/hour-00.parquet",
    "bindings": "silver/bindings/bindings.parquet",
    "quarantine": "bronze/quarantine/file_id=00ab/part-00000.parquet",
    "denied": "gold/denied/denied.parquet",
    "files": "manifest/files/files.parquet",
    "runs": "manifest/runs/runs.parquet",
}
"""Tables, and the names of their files in the earlier release."""


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, int]:
    """Write a folder as the earlier release left it; return how many rows its tables have."""
    for table, name in FILES.items():
        rows = table_of(table, [{"minute": BEGIN, "principal": "User:a"}]).collect()
        contents.write(contents.as_frame(table, rows), tmp_path / name)
    return dict.fromkeys(FILES, 1)


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
