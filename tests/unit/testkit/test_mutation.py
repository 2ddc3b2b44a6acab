"""Mutants of the source: which are made, and that tests which check something notice them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.mutation import mutants_of

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = '''\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

LIMIT: int = 3


def closes(x: int, *, now: bool = False) -> int | None:
    """Return 1."""
    assert x > 0
    if x < LIMIT and not now:
        raise ValueError(f"{x + 1}")
    self.count[x] = "1" + str(x)
    return x - 1
'''

PROGRAM = """
from testkit import mutation

mutation.SUBJECTS["uuids"] = (["server/doorkeeper/cluster/uuids.py"], ["tests/unit/cluster"])
outcome = mutation.try_subject("uuids", mutants=1000, seed=1)
print(outcome.tried == outcome.possible, outcome.tried > 5, len(outcome.survivors))
"""


def test_each_place_is_changed_once(tmp_path: Path) -> None:
    """Types, texts, assertions and imports for types stay as they are."""
    file = tmp_path / "source.py"
    file.write_text(SOURCE)

    changes = [(each.line, each.before, each.after) for each in mutants_of(file)]

    assert sorted(changes) == [
        (6, "3", "(4)"),
        (9, "False", "(True)"),
        (12, "not now", "(now)"),
        (12, "x < LIMIT", "(x <= LIMIT)"),
        (12, "x < LIMIT and not now", "(not (x < LIMIT and (not now)))"),
        (12, "x < LIMIT and not now", "(x < LIMIT or not now)"),
        (13, 'raise ValueError(f"{x + 1}")', "pass"),
        (14, 'self.count[x] = "1" + str(x)', "pass"),
        (15, "1", "(2)"),
        (15, "return x - 1", "return None"),
        (15, "x - 1", "(x + 1)"),
    ]
    for each in mutants_of(file):
        compile(each.source, "mutant", "exec")


def test_mutants_are_noticed_by_tests_that_check_something() -> None:
    """In a process of its own: here the module may be imported already."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "True True 0\n", done.stdout
