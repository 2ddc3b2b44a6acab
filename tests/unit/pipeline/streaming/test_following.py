"""The stream without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.streaming.batches import Batches
from doorkeeper_pipeline.streaming.following import StreamRequest, follow
from testkit.trail_files import write_file

if TYPE_CHECKING:
    from pathlib import Path


def asked(folder: Path, *, once: bool = False) -> StreamRequest:
    """Return a request for the trail in a folder."""
    (folder / "trail").mkdir(exist_ok=True)
    return StreamRequest(
        trail=folder / "trail", out=folder / "out", policy=Policy(), interval_s=1, once=once
    )


def test_files_as_they_come(tmp_path: Path) -> None:
    """Each look reads what is new; views follow; a restart reads nothing again."""
    request = asked(tmp_path)
    write_file(request.trail, 1, 3)
    looks = iter([True, True, False])

    def wait(_: float) -> bool:
        go_on = next(looks)
        if go_on and len(list(request.trail.iterdir())) == 1:
            write_file(request.trail, 4, 3, compressed=True)
        return go_on

    lines: list[str] = []
    follow(request, LocalEngine(), lines.append, wait)

    batches = Batches(request.out)
    names = pl.read_parquet(batches.decisions())["resource_name"].to_list()
    assert sorted(names) == [f"t{number}" for number in range(1, 7)]
    assert batches.numbers() == [0, 1]
    assert len(lines) == 2
    denied = pl.read_parquet(request.out / "stream" / "denied" / "denied.parquet")
    assert denied["count"].sum() == 4
    assert (request.out / "stream" / "new_access" / "new_access.parquet").exists()
    follow(asked(tmp_path, once=True), LocalEngine(), lines.append, wait)
    assert len(lines) == 2


def test_what_a_killed_stream_did_not_show(tmp_path: Path) -> None:
    """A stream that ended between a batch and its views shows them when it begins again."""
    request = asked(tmp_path, once=True)
    write_file(request.trail, 1, 3)

    def killed(step: str) -> None:
        if step == "renamed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(request, LocalEngine(), print, lambda _: False, killed)
    shown = request.out / "stream" / "denied" / "denied.parquet"
    assert not shown.exists()

    follow(request, LocalEngine(), print, lambda _: False)

    assert pl.read_parquet(shown)["count"].sum() == 2
