"""One set of ACLs after another."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper.acls.formats.names import binding_of
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.succession import follow, follow_places
from doorkeeper_pipeline.sources.acl_sets import table_of
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

ROW = ["resource_name", "valid_from", "valid_to"]
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"


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


def test_bindings_are_created_removed_and_recreated() -> None:
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


def test_clock_set_back() -> None:
    second = follow(listed("a"), listed("a", "b"), at(5))

    assert rows(follow(second, listed("a"), at(2)))[1] == ("b", at(5), at(5))


def test_change_log_times_are_used() -> None:
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


def test_dated_listings(tmp_path: Path) -> None:
    now = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
    for name, users in (("one", "ab"), ("two", "bc"), ("three", "c")):
        rows = [f"User:{user},TOPIC,LITERAL,t,READ,ALLOW,*" for user in users]
        (tmp_path / name).write_text("\n".join([HEADER, *rows]))
    places = [f"{tmp_path}/two@2026-10-08", f"{tmp_path}/one@2026-10-01", f"{tmp_path}/three"]

    found = follow_places(contents.empty("bindings"), places, now)

    times = found.select("principal", "valid_from", "valid_to").sort("principal").rows()
    october = dt.datetime(2026, 10, 8, tzinfo=dt.UTC)
    assert times == [("User:a", None, october), ("User:b", None, now), ("User:c", october, None)]
    again = follow_places(found, places[:2], now)
    assert again.filter(pl.col("valid_to").is_null())["principal"].to_list() == ["User:b", "User:c"]


def test_audit_log_ends_only_what_it_removes(tmp_path: Path) -> None:
    """It has changes alone: what it does not name is in force as it was listed."""
    (tmp_path / "old.csv").write_text(
        "\n".join((HEADER, *(f"User:a,TOPIC,LITERAL,{name},READ,ALLOW,*" for name in "abc"), ""))
    )
    audit = tmp_path / "audit"
    audit.mkdir()
    fields = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation")
    removed, added = (
        {**dict(zip(fields, ("TOPIC", name, "LITERAL", "User:a", "*", "READ"), strict=True))}
        | {"permission": "ALLOW"}
        for name in "bd"
    )
    event = {"kind": "change", "seq": 1, "node": 1, "ts_ns": int(at(5).timestamp() * 10**9)}
    change = event | {"subject": "acls", "removed": [removed], "added": [added], "revision": 3}
    (audit / "audit-1-1-1.jsonl").write_text(json.dumps(change) + "\n")

    found = follow_places(
        contents.empty("bindings"), [f"{tmp_path / 'old.csv'}@2026-01-02", str(audit)], at(9)
    )

    in_force = found.filter(pl.col("valid_to").is_null())
    assert in_force["resource_name"].to_list() == ["a", "c", "d"]
    assert in_force["known_from"].to_list() == [at(2), at(2), at(5)]


def test_future_listing_is_rejected(tmp_path: Path) -> None:
    now = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)
    (tmp_path / "acls@2026-12-01").write_text(HEADER)

    name = f"{tmp_path}/acls@2026-12-01"

    assert follow_places(contents.empty("bindings"), [name], now).is_empty()
    with pytest.raises(PipelineError, match="x@2026-12-01: the date of the listing is in the fut"):
        follow_places(contents.empty("bindings"), ["x@2026-12-01"], now)
