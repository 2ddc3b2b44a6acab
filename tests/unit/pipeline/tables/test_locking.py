"""One writer at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Busy
from doorkeeper_pipeline.tables.locking import lock

if TYPE_CHECKING:
    from pathlib import Path


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second process is told, not made to wait."""
    with lock(tmp_path), pytest.raises(Busy, match="another"), lock(tmp_path):
        pass


def test_an_object_store_has_no_lock() -> None:
    """Nothing is made under the name of an address."""
    with lock("s3a://bucket/access"), lock("s3a://bucket/access"):
        pass
