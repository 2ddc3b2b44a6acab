"""doorkeeper.server.operations.audit.names: what the name of a file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.server.operations.audit.names import file_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("audit-1-000000000042.jsonl.open", (1, 42, None)),
        ("audit-12-000000000042-000000000977.jsonl", (12, 42, 977)),
        ("audit-1-000000000042-1000000000000.jsonl.zst", (1, 42, 1_000_000_000_000)),
    ],
)
def test_file_name_has_node_and_events(name: str, expected: tuple[int, int, int | None]) -> None:
    file = file_of(Path(name))

    assert file is not None
    assert (file.node, file.first, file.last) == expected
    assert file.is_compressed == name.endswith("zst")


@pytest.mark.parametrize(
    "name",
    [
        "audit-1.lock",
        "audit-1.reserve",
        "audit-1-2.jsonl",
        "audit-1-000000000042-000000000977.jsonl.zst.tmp",
        "x",
    ],
)
def test_other_files_are_ignored(name: str) -> None:
    assert file_of(Path(name)) is None
