"""Where tables are."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper_pipeline.tables import places


def test_names_of_files() -> None:
    """Each table is in the folder of its layer, and its files are found by what they are of."""
    assert places.folder_of("denied") == "gold/denied"
    assert places.of_file("ab") == "ab/"
    assert places.of_hour("2026-11-22T07") == "2026-11-22/07"


@pytest.mark.parametrize(
    ("place", "is_one"),
    [
        ("s3a://bucket/access", True),
        ("hdfs://namenode:8020/access", True),
        ("file:/tmp/access", True),
        ("access", False),
        ("/tmp/s3a://x", False),
        ("C:/access", False),
        (Path("s3a://bucket"), False),
    ],
)
def test_addresses(place: str | Path, *, is_one: bool) -> None:
    """An address has a scheme of two letters at least; a path is none."""
    assert places.is_address(place) is is_one
