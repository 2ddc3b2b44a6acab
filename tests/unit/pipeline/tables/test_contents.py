"""Schema and rules hold for what is written."""

from __future__ import annotations

import datetime as dt
import resource
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


def access(**changed: object) -> pl.DataFrame:
    """Return a frame of one row of the table new_access."""
    row: dict[str, Any] = {
        "kind": "HOST",
        "principal": "User:a",
        "host": "10.0.0.1",
        "resource_type": "",
        "resource_name": "",
        "count": 1,
        "first_ts": NOON,
        "last_ts": NOON,
        "denied": 0,
        "since": NOON,
        **changed,
    }
    return pl.DataFrame([row])


def test_wrong_columns_are_rejected() -> None:
    with pytest.raises(PipelineError, match="new_access: the columns since are missing"):
        contents.as_frame("new_access", access().drop("since"))
    with pytest.raises(PipelineError, match="new_access"):
        contents.as_frame("new_access", access(count="many"))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"principal": None}, "principal is null in 1 rows"),
        ({"kind": "PLANET"}, "kind is known"),
        ({"first_ts": NOON - dt.timedelta(days=1)}, "seen in the window"),
    ],
)
def test_contract_violations_are_reported(changed: dict[str, object], reason: str) -> None:
    rows = access(**changed).with_columns(cluster=pl.lit(""))
    rows = rows.cast(contents.empty("new_access").schema)
    with pytest.raises(PipelineError, match=reason):
        contents.check("new_access", rows)


def test_keys_are_unique() -> None:
    """Two rows must not have one name."""
    rows = contents.as_frame("new_access", pl.concat([access(), access()]))
    with pytest.raises(PipelineError, match=r"duplicate key \(kind"):
        contents.check("new_access", rows)


def test_warnings_are_counted() -> None:
    """A rule of severity warning is counted, not raised."""
    day = NOON.date()
    row = {
        "day": day, "minute": NOON, "principal": "odd", "host": "h", "operation": "READ",
        "resource_type": "TOPIC", "resource_name": "t", "outcome": "DENIED", "api": "", "rule": "",
        "rule_binding": "", "probe": False, "source": "trail", "count": 1, "first_ts": NOON,
        "last_ts": NOON,
    }  # fmt: skip
    rows = contents.as_frame("decisions", pl.DataFrame([row]))

    assert contents.check("decisions", rows) == {"principal has a type": 1}


def test_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "denied.parquet"
    path.write_bytes(b"PAR1 no")

    with pytest.raises(Unreadable, match="denied"):
        contents.read_files("out", "denied", [str(path)])


def test_missing_nullable_column_is_null(tmp_path: Path) -> None:
    rows = contents.empty("agreement")
    older = rows.drop(rows.columns[-1])
    contents.write(older, tmp_path / "a.parquet")

    assert contents.scan("agreement", [str(tmp_path / "a.parquet")]).collect().equals(rows)


def test_full_disk_is_reported_and_cleaned_up(tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(PipelineError, match=f"^{tmp_path}: File too large") as caught:
            contents.write(access(), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert not target.exists()
