"""Ranges of large files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_pipeline.jobs.read import slices
from doorkeeper_pipeline.sources import authorizer_log
from doorkeeper_pipeline.sources.files import identify
from doorkeeper_pipeline.sources.parsed import sum_parts

if TYPE_CHECKING:
    from pathlib import Path


def record(number: int) -> str:
    """Return a record of one or two lines."""
    name = f"n{number}" if number % 4 else f"n{number}\n[x] y"
    return (
        f"[2024-10-25 10:11:12,345] INFO Principal = User:a is Denied Operation = Read from host ="
        f" h on resource = Group:LITERAL:{name} (kafka.authorizer.logger)\n"
    )


def test_ranges_hold_every_record_once(tmp_path: Path) -> None:
    """Whatever the size of a range, each record is in one of them, whole."""
    path = tmp_path / "a.log"
    path.write_text("".join(map(record, range(20))))
    file = identify(path)
    assert file is not None

    for size in (1, 333, 1 << 20):
        ranges = slices(file, size)
        parts = [authorizer_log.parse_parts(path, "", "UTC", *each) for each in ranges]
        found = list(map(sum_parts, parts))
        names = [name for each in found for name in each.decisions["resource_name"]]
        assert len(names) == len(set(names)) == 20
        assert all(each.quarantine.is_empty() for each in found)
        assert len(ranges) > 1 or size > 5000
