"""Kill -9 in the midst of commits, again and again: what was acknowledged stays."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.storage.database import check_integrity, connect_readonly
from doorkeeper.server.state.storage.files import DATABASE_NAME
from testkit.stores import binding, open_store, query

if TYPE_CHECKING:
    from pathlib import Path

ROUND_NUMBERS = 1_000_000
"""Each round adds bindings from a range of its own."""


def acknowledged_until_killed(data_dir: Path, first: int, lines: int) -> list[str]:
    """Let a process write until it acknowledged so many changes, kill it, return all it said."""
    command = [sys.executable, "-m", "testkit.store_under_load", str(data_dir), str(first)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        said += process.stdout.readlines()
    assert all(line.endswith("\n") for line in said), said[-3:]
    return [line.rstrip("\n") for line in said]


def replayed(data_dir: Path) -> set[object]:
    """Return the ids that are left when the change log is followed from its beginning."""
    ids: set[object] = set()
    for deleted, key in query(
        data_dir, "SELECT deleted, key FROM change_log ORDER BY revision, item"
    ):
        if deleted:
            ids.remove(key)
        else:
            assert key not in ids
            ids.add(key)
    return ids


def check(data_dir: Path, acknowledged: list[str]) -> None:
    """Compare a store with what was acknowledged, and with itself."""
    store = open_store(data_dir)
    stored = list(store.rows(ACL))
    revision = store.revision
    store.close()
    reader = connect_readonly(data_dir / DATABASE_NAME)
    check_integrity(reader, data_dir / DATABASE_NAME)
    reader.close()

    log = query(data_dir, "SELECT deleted, key, revision FROM change_log ORDER BY revision")
    assert [number for _, _, number in log] == list(range(1, revision + 1))
    said = {f"{'-' if deleted else '+'}{int(str(key))} {number}" for deleted, key, number in log}
    assert set(acknowledged) <= said
    assert {found.binding_id for found in stored} == replayed(data_dir)
    assert all(found == binding(int(found.binding_id)) for found in stored)


def test_acknowledged_changes_survive_kills(data_dir: Path) -> None:
    chance = random.Random(3)
    acknowledged: list[str] = []
    for number in range(3):
        lines = chance.randrange(1, 500)
        acknowledged += acknowledged_until_killed(data_dir, number * ROUND_NUMBERS, lines)
        check(data_dir, acknowledged)
    assert len(acknowledged) >= 3
