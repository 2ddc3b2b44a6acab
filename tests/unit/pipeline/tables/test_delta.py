"""Tables change whole or not at all, also when a process is killed in the change."""

from __future__ import annotations

import datetime as dt
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from doorkeeper_pipeline.errors import Busy, PipelineError, Unreadable
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, Tables, clean
from testkit.load import scaled

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
STEPS = ("staged", "committed files", "committed runs")


def refusals(*principals: str) -> pl.DataFrame:
    """Return rows of the table denied."""
    rows = [filled("denied", principal=each, reason="NO_ACL") for each in principals]
    return contents.as_frame("denied", pl.DataFrame(rows, schema=contents.empty("denied").schema))


def runs(count: int) -> pl.DataFrame:
    """Return rows of the table runs."""
    rows = [filled("runs", run_id=f"run-{each}") for each in range(count)]
    return contents.as_frame("runs", pl.DataFrame(rows, schema=contents.empty("runs").schema))


def filled(table: str, **given: object) -> dict[str, Any]:
    """Return a row that has something in each column."""
    values: dict[Any, object] = {
        pl.String: "x", pl.Int64: 1, pl.Int32: 1, pl.Boolean: False, pl.Date: NOON.date(),
        pl.Float64: 1.0,
    }  # fmt: skip
    row: dict[str, Any] = {}
    for name, kind in contents.empty(table).schema.items():
        if isinstance(kind, pl.Datetime):
            row[name] = NOON
        else:
            row[name] = [] if isinstance(kind, pl.List) else values[kind.base_type()]
    return {**row, **given}


def changed(out: Path, number: int, *principals: str) -> None:
    """Make the change of a run."""
    change = Change(Tables(out))
    change.replace("denied", refusals(*principals))
    change.replace("runs", runs(number))
    change.commit()


def principals(out: Path) -> list[str]:
    """Return what the table denied says now."""
    found: list[str] = Tables(out).read("denied")["principal"].to_list()
    return found


def seen_by_others(out: Path) -> list[str]:
    """Return what the newest version of the table denied says to a reader of the format."""
    table = DeltaTable(str(out / places.folder_of("denied")))
    frame = pl.concat(
        pl.read_parquet(out / "gold" / "denied" / path, glob=False)
        for path in pa.table(table.get_add_actions()).column("path").to_pylist()
    )
    found: list[str] = frame["principal"].to_list()
    return found


def test_replaced_tables_have_versions(tmp_path: Path) -> None:
    assert Tables(tmp_path).read("denied").is_empty()
    changed(tmp_path, 1, "User:a")
    changed(tmp_path, 2, "User:b", "User:c")

    assert principals(tmp_path) == seen_by_others(tmp_path) == ["User:b", "User:c"]
    table = DeltaTable(str(tmp_path / "gold" / "denied"), version=0)
    assert pa.table(table.get_add_actions()).column("num_records").to_pylist() == [1]
    assert table.metadata().name == "denied"


def test_tables_are_partitioned(tmp_path: Path) -> None:
    for day in (22, 23):
        change = Change(Tables(tmp_path))
        row = filled("decisions", day=dt.date(2026, 11, day))
        frame = contents.as_frame(
            "decisions", pl.DataFrame([row], schema=contents.empty("decisions").schema)
        )
        change.write("decisions", frame, places.of_span(f"2026-11-{day}", 0, 1))
        change.replace("runs", runs(day))
        change.commit()

    table = DeltaTable(str(tmp_path / "silver" / "decisions"))
    assert table.metadata().partition_columns == ["day"]
    assert pl.scan_delta(table).filter(pl.col("day") == dt.date(2026, 11, 23)).collect().rows() == (
        Tables(tmp_path).read("decisions").filter(pl.col("day") == dt.date(2026, 11, 23)).rows()
    )
    change = Change(Tables(tmp_path))
    change.remove("decisions", places.of_day("2026-11-22"))
    change.replace("runs", runs(24))
    change.commit()
    assert Tables(tmp_path).read("decisions")["day"].to_list() == [dt.date(2026, 11, 23)]


@pytest.mark.parametrize(
    ("table", "columns", "partitions", "found"),
    [
        ("decisions", ("day",), None, "is partitioned by nothing, expected day"),
        ("files", ("path", "day"), ["day"], "is partitioned by day, expected nothing"),
        ("files", ("file_id", "path", "topic_id"), None, "lacks the columns source, options, "),
    ],
)
def test_table_with_another_layout_is_rejected(
    tmp_path: Path, table: str, columns: tuple[str, ...], partitions: list[str] | None, found: str
) -> None:
    folder = tmp_path / places.folder_of(table)
    write_deltalake(folder, pa.table({each: ["x"] for each in columns}), partition_by=partitions)

    with pytest.raises(
        Unreadable, match=f"{table}: the table was written by another release: it {found}.*--tables"
    ):
        Tables(tmp_path).read(table)


KILLED = """
import os, signal, sys
from pathlib import Path
from test_delta import refusals, runs
from doorkeeper_pipeline.tables.delta import Change, Tables

def checkpoint(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

change = Change(Tables(Path(sys.argv[1])))
change.replace("denied", refusals("User:new"))
change.replace("files", Tables(Path(sys.argv[1])).read("files"))
change.replace("runs", runs(2))
change.commit(checkpoint)
"""


@pytest.mark.parametrize("step", STEPS)
def test_killed_commit_is_atomic(tmp_path: Path, step: str) -> None:
    """After kill -9 between any two commits our readers find the old tables, or all the new; other
    readers find a whole version of each; the next change begins with what our readers found."""
    changed(tmp_path, 1, "User:old")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), step],
        env={"PYTHONPATH": f"{Path(__file__).parent}:{':'.join(sys.path)}"},
        check=False,
        timeout=scaled(60),
    )
    assert killed.returncode == -signal.SIGKILL

    now = ["User:new"] if step == "committed runs" else ["User:old"]
    assert principals(tmp_path) == now
    assert seen_by_others(tmp_path) == (["User:old"] if step == "staged" else ["User:new"])
    change = Change(Tables(tmp_path))
    change.replace("runs", runs(2))
    change.commit()
    assert principals(tmp_path) == seen_by_others(tmp_path) == now


def test_independent_table_is_visible_at_once(tmp_path: Path) -> None:
    changed(tmp_path, 1, "User:old")
    subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), "committed files"],
        env={"PYTHONPATH": f"{Path(__file__).parent}:{':'.join(sys.path)}"},
        check=False,
        timeout=scaled(60),
    )
    change = Change(Tables(tmp_path))
    change.replace("backtest", contents.empty("backtest"))
    change.commit()

    assert len(Tables(tmp_path).files("backtest")) == 1
    assert principals(tmp_path) == seen_by_others(tmp_path) == ["User:old"]
    changed(tmp_path, 2, "User:newer")
    assert principals(tmp_path) == seen_by_others(tmp_path) == ["User:newer"]


def test_concurrent_writer_fails(tmp_path: Path) -> None:
    changed(tmp_path, 1, "User:old")
    first, second = (Change(Tables(tmp_path)) for _ in range(2))
    for change, name in ((first, "User:first"), (second, "User:second")):
        change.replace("denied", refusals(name))
        change.replace("runs", runs(2))
    first.commit()

    with pytest.raises(Busy, match="another process has changed"):
        second.commit()

    assert principals(tmp_path) == seen_by_others(tmp_path) == ["User:first"]


@pytest.mark.parametrize("step", ["staged", "committed bindings", "committed files"])
def test_interleaved_writer_that_fails_changes_nothing(tmp_path: Path, step: str) -> None:
    """An object store has no lock: two runs may commit at the same time."""
    changed(tmp_path, 1, "User:a")
    slow = Change(Tables(tmp_path))
    slow.replace("bindings", contents.empty("bindings"))
    slow.replace("denied", refusals("User:slow"))
    slow.replace("files", contents.empty("files"))
    slow.replace("runs", runs(2))

    def meanwhile(reached: str) -> None:
        if reached == step:
            changed(tmp_path, 2, "User:b")

    with pytest.raises(Busy):
        slow.commit(meanwhile)

    assert Tables(tmp_path).read("denied")["principal"].to_list() == ["User:b"]
    changed(tmp_path, 3, "User:c")
    assert Tables(tmp_path).read("denied")["principal"].to_list() == ["User:c"]


def test_failed_change_leaves_no_files(tmp_path: Path) -> None:
    changed(tmp_path, 1, "User:old")
    before = sorted(tmp_path.rglob("*"))
    change = Change(Tables(tmp_path))
    change.replace("denied", refusals("User:new"))

    change.discard()

    assert sorted(tmp_path.rglob("*")) == before
    assert principals(tmp_path) == ["User:old"]


def test_unreferenced_files_are_deleted_later(tmp_path: Path) -> None:
    changed(tmp_path, 1, "User:old")
    change = Change(Tables(tmp_path))
    change.replace("denied", refusals("User:new"))
    change.replace("runs", runs(2))
    change.commit()

    clean(Tables(tmp_path), change)

    assert len(list((tmp_path / "gold" / "denied").glob("*.parquet"))) == 2
    assert principals(tmp_path) == ["User:new"]


def test_folder_name_may_contain_special_characters(tmp_path: Path) -> None:
    for name in ("day=1/access[1] *?{a,b}", "50% é #1"):
        changed(tmp_path / name, 1, "User:a")
        changed(tmp_path / name, 2, "User:b")
        assert principals(tmp_path / name) == ["User:b"]
    for name, found in (("a%20b", "'%20'"), ("C:\\a", r"'\\\\'")):
        with pytest.raises(PipelineError, match=f"found {found} in the name of the folder"):
            Tables(tmp_path / name)


def test_damaged_transaction_log_is_reported(tmp_path: Path) -> None:
    changed(tmp_path, 1, "User:a")
    (tmp_path / "gold" / "denied" / "_delta_log" / f"{0:020}.json").write_text("{")

    with pytest.raises(Unreadable, match="gold/denied"):
        Tables(tmp_path).read("denied")


def test_comments_and_statistics(tmp_path: Path) -> None:
    """Columns say what they mean; readers pass over files of other times; the log has no names."""
    changed(tmp_path, 1, "User:a", "User:b")

    table = DeltaTable(str(tmp_path / "gold" / "denied"))
    comments = {field.name: field.metadata.get("comment") for field in table.schema().fields}
    assert comments["principal"] == next(
        column.meaning for column in TABLES["denied"].columns if column.name == "principal"
    )
    assert all(comments.values())
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert [each["min.first_ts"] for each in actions] == [NOON]
    assert [each["max.count"] for each in actions] == [1]
    assert [each["null_count.principal"] for each in actions] == [0]
    log = next((tmp_path / "gold" / "denied" / "_delta_log").glob("*0.json"))
    assert "User:" not in log.read_text()


def test_timestamps_in_statistics_are_rounded_outward(tmp_path: Path) -> None:
    at = NOON + dt.timedelta(microseconds=1)
    change = Change(Tables(tmp_path))
    change.replace("runs", runs(1).with_columns(finished=pl.lit(at).cast(pl.Datetime("us", "UTC"))))
    change.commit()

    table = DeltaTable(str(tmp_path / "manifest" / "runs"))
    (action,) = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert action["max.finished"] == NOON + dt.timedelta(milliseconds=1)
    assert pl.scan_delta(table).filter(pl.col("finished") > NOON).collect().height == 1
