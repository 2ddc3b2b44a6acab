"""One writer at a time."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Busy
from doorkeeper_pipeline.tables import locking
from doorkeeper_pipeline.tables.locking import lock

if TYPE_CHECKING:
    from pathlib import Path


def test_second_writer_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "WAIT_S", 1)
    told: list[str] = []

    with lock(tmp_path), pytest.raises(Busy, match="another"), lock(tmp_path, told.append):
        pass

    assert told == ["another doorkeeper-pipeline is writing there: waiting for it"]


def test_second_writer_waits(tmp_path: Path) -> None:
    with ExitStack() as first:
        first.enter_context(lock(tmp_path))
        with lock(tmp_path, lambda _: first.close()):
            pass


def test_object_store_has_no_lock() -> None:
    with lock("s3a://bucket/access"), lock("s3a://bucket/access"):
        pass
