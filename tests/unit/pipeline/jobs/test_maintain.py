"""Maintenance: what is removed is gone from all tables, and nothing else is."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import Conflicting
from doorkeeper_pipeline.jobs.maintain import MaintainRequest, is_name, maintain
from doorkeeper_pipeline.jobs.request import Maintained, Surroundings
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import delta
from testkit.pipeline_runs import NOON, Output, record, restored, silver_and_gold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
OLD = "2026-11-10 07:10:00,000"


class Killed(Exception):
    """Stands for the kill."""


def maintained(
    output: Output, checkpoint: Callable[[str], None] = lambda _: None, **options: object
) -> Maintained:
    """Maintain the tables of an output folder."""
    request = MaintainRequest(out=output.out, **options)  # type: ignore[arg-type]
    around = Surroundings(
        engine=Engine(),
        now=lambda: NOON,
        run_id="maintenance",
        version="1",
        tell=lambda _: None,
        checkpoint=checkpoint,
    )
    return maintain(request, around)


@pytest.fixture(scope="module")
def of_two_logs(tmp_path_factory: pytest.TempPathFactory) -> Output:
    """Make tables of two logs: an old one, and one with an old day and a new one."""
    folder = tmp_path_factory.mktemp("two")
    logs = folder / "logs"
    logs.mkdir()
    (logs / "old.log").write_text(record("old", OLD) * 2 + "bad\n")
    (logs / "new.log").write_text(
        record("old", OLD, "bob") + record("new", user="bob") + record("new")
    )
    listing = folder / "acls.csv"
    listing.write_text(HEADER + "User:bob,TOPIC,LITERAL,x,READ,ALLOW,*\n")
    found = Output(folder / "out", str(logs))
    found.run(acls=(str(listing),))
    return found


@pytest.fixture
def output(of_two_logs: Output, tmp_path: Path) -> Iterator[Output]:
    """Return these tables, and put back what a test changes in them."""
    with restored(of_two_logs.out.parent, tmp_path / "kept"):
        yield of_two_logs


def mentions(out: Path, name: str) -> set[str]:
    """Return the tables of which a row of the newest version has a name."""
    tables = delta.Tables(out)
    word = re.compile(rf"{re.escape(name)}\b")
    return {each for each in TABLES if word.search(tables.read(each).write_ndjson())}


def test_old_days_are_removed(output: Output) -> None:
    done = maintained(output, keep_days=5)

    assert {name: count for name, count in done.expired.items() if count} == {
        "decisions": 2, "lines": 2, "quarantine": 1,
    }  # fmt: skip
    assert output.counts() == {"new": 2}
    summary = output.run()
    assert summary.run["files_read"] == 0
    assert delta.Tables(output.out).read("days")["day"].to_list() == [dt.date(2026, 11, 22)]
    files = delta.Tables(output.out).read("files").sort("path").select("days", "first_ts").rows()
    midnight = dt.datetime(2026, 11, 17, tzinfo=dt.UTC)
    assert files == [(["2026-11-22"], midnight), ([], None)]
    assert delta.Tables(output.out).read("denied")["count"].sum() == 2
    # What comes later into a day that was cut is added to the rest of its lines.
    (output.out.parent / "logs" / "more.log").write_text(record("more"))
    output.run()
    assert output.counts() == {"new": 2, "more": 1}


def test_file_rows_are_removed_with_their_last_day(output: Output) -> None:
    (output.out.parent / "logs" / "old.log").unlink()

    done = maintained(output, keep_days=5)

    assert done.expired["files"] == 1
    assert len(delta.Tables(output.out).read("files")) == 1


@pytest.mark.parametrize(("name", "left"), [("User:bob", {"old": 2, "new": 1}), ("10.0.0.7", {})])
def test_name_is_forgotten_in_all_tables(output: Output, name: str, left: dict[str, int]) -> None:
    (output.out.parent / "logs" / "b.log").write_text(record("b", user="bobby"))
    output.run()

    done = maintained(output, forget=(name,))

    assert mentions(output.out, name) == set()
    assert output.counts() == (left | {"b": 1} if left else {})
    assert done.forgotten[name]["decisions"] == (2 if name == "User:bob" else 5)
    assert done.listed == (("User:bob",) if name == "User:bob" else ())
    output.run()
    assert delta.Tables(output.out).read("denied")["count"].sum() == sum(output.counts().values())
    assert delta.Tables(output.out).read("runs")["command"].to_list() == [
        "run",
        "run",
        "maintain",
        "run",
    ]


def test_forgotten_use_is_not_taken_for_none(tmp_path: Path) -> None:
    """A grant that only a forgotten principal used is known from that day on, and listed again."""
    logs, listing = tmp_path / "logs", tmp_path / "acls.csv"
    logs.mkdir()
    days = [NOON - dt.timedelta(days) for days in range(100, 0, -1)]
    lines = [
        f"[{day:%F %T},137] DEBUG Principal = User:bob is Allowed Operation = Read from host ="
        " 10.0.0.5 on resource = Topic:LITERAL:bills for request = Fetch with resourceRefCount = 1"
        " (kafka.authorizer.logger)\n"
        for day in days
    ]
    (logs / "a.log").write_text("".join(lines))
    listing.write_text(
        HEADER
        + "User:*,TOPIC,LITERAL,bills,READ,ALLOW,*\n"
        + "User:bob,TOPIC,LITERAL,bills,READ,ALLOW,*\n"
        + "User:eve,TOPIC,LITERAL,idle,READ,ALLOW,*\n"
    )
    output = Output(tmp_path / "out", str(logs))
    acls = (f"{listing}@{days[0]:%F}",)

    def verdicts() -> dict[str, str]:
        rows = delta.Tables(output.out).read("unused_grants").to_dicts()
        return {row["principal"]: row["proposal"] for row in rows}

    output.run(acls=acls)
    assert verdicts()["User:eve"] == "REMOVE"
    maintained(output, forget=("User:bob",))
    output.run(acls=acls)

    assert set(verdicts().values()) == {"NOT_ENOUGH_EVIDENCE"}
    assert verdicts().keys() == {"User:*", "User:bob", "User:eve"}


def test_unknown_name_is_rejected(output: Output) -> None:
    before = silver_and_gold(output.out)

    with pytest.raises(Conflicting, match="--forget: 'User:bo' is not in any table"):
        maintained(output, forget=("User:bo",), keep_days=5)

    assert silver_and_gold(output.out) == before


def test_files_of_earlier_versions_are_vacuumed(output: Output) -> None:
    def files_with(name: str) -> list[str]:
        found = output.out.rglob("*.parquet")
        return [str(path) for path in found if name in pl.read_parquet(path).write_ndjson()]

    done = maintained(output, forget=("User:bob",))
    assert done.deleted_files == 0
    assert done.waiting_files > 0
    assert files_with("User:bob")

    done = maintained(output, vacuum_hours=0)
    assert done.deleted_files > 0
    assert done.waiting_files == 0
    assert not files_with("User:bob")
    assert output.counts() == {"old": 2, "new": 1}


@pytest.mark.parametrize("step", ["staged", "committed lines", "committed decisions"])
def test_killed_maintenance_is_atomic(output: Output, step: str) -> None:
    def kill(reached: str) -> None:
        if reached == step:
            raise Killed

    before = silver_and_gold(output.out)
    with pytest.raises(Killed):
        maintained(output, kill, forget=("User:bob",))

    assert silver_and_gold(output.out) == before
    maintained(output, vacuum_hours=0)
    assert silver_and_gold(output.out) == before
    maintained(output, forget=("User:bob",))
    assert output.counts() == {"old": 2, "new": 1}


def test_maintenance_without_changes(output: Output) -> None:
    run = output.run()
    maintained(output, keep_days=50)

    assert delta.Tables(output.out).read("runs")["command"].to_list() == ["run", "run"]
    assert output.run().run["run_id"] != run.run["run_id"]


@pytest.fixture(scope="module")
def of_six_logs(tmp_path_factory: pytest.TempPathFactory) -> Output:
    """Make tables of six logs of an old day, of which the last ends on the next one."""
    folder = tmp_path_factory.mktemp("six")
    logs = folder / "logs"
    logs.mkdir()
    for number in range(6):
        later = record("later", "2026-11-11 00:10:00,000") * (number == 5)
        (logs / f"{number}.log").write_text(record(f"t{number}", OLD, f"u{number}") + later)
    found = Output(folder / "out", str(logs))
    found.run()
    return found


@pytest.fixture
def many(of_six_logs: Output, tmp_path: Path) -> Iterator[Output]:
    """Return these tables, and put back what a test changes in them."""
    with restored(of_six_logs.out.parent, tmp_path / "kept"):
        yield of_six_logs


ALL = {f"t{number}": 1 for number in range(6)} | {"later": 1}


def files_of_lines(output: Output) -> int:
    """Return the number of files of the table lines."""
    return len(delta.Tables(output.out).files("lines"))


def test_small_files_are_merged(many: Output) -> None:
    """Files of logs that do not change become one, once; what is read later is added to them."""
    done = maintained(many)

    assert (done.merged_files, done.written_files) == (6, 1)
    assert files_of_lines(many) == 1
    assert many.counts() == ALL
    assert maintained(many).merged_files == 0
    assert many.run().run["files_read"] == 0
    (many.out.parent / "logs" / "more.log").write_text(record("t0", OLD))
    many.run()
    assert many.counts() == ALL | {"t0": 2}


def test_merged_log_that_grows_is_read_again(many: Output) -> None:
    maintained(many)
    log = many.out.parent / "logs" / "5.log"
    log.write_text(log.read_text() + record("new", "2026-11-12 00:10:00,000"))

    assert many.run().run["files_read"] == 1
    assert many.counts() == ALL | {"new": 1}
    many.run(rebuild=True)
    assert many.counts() == ALL | {"new": 1}
    assert files_of_lines(many) == 6


def test_merged_lines_are_removed_or_forgotten(many: Output) -> None:
    maintained(many)

    done = maintained(many, forget=("User:u3",))
    assert done.forgotten["User:u3"]["lines"] == 1
    assert many.counts() == {name: 1 for name in ALL if name != "t3"}
    maintained(many, keep_days=11)
    assert many.counts() == {"later": 1}
    assert len(delta.Tables(many.out).read("lines")) == 1
    maintained(many, keep_days=5)
    assert (many.counts(), files_of_lines(many)) == ({}, 0)


@pytest.mark.parametrize("text", ["bob", "User:", "10.0.0", ":bob", "User: x"])
def test_invalid_name_is_rejected(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize("text", ["User:bob", "Group:a b", "10.0.0.7", "2001:db8:0:0:0:0:0:1"])
def test_principals_and_addresses_are_names(text: str) -> None:
    assert is_name(text)
